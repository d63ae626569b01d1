"""Plans: what ratings will give, before a study is made."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from boxthirding.service import response_models as models
from boxthirding.service.authorization import GuardedRoute, needs, service_of
from boxthirding.service.keys import OPERATOR
from boxthirding.service.problems import reply
from boxthirding.service.request_models import PlanIn

router = APIRouter(route_class=GuardedRoute, tags=["plans"])


@router.post("/plan", response_model=models.Plan, **needs(OPERATOR))
async def make_plan(request: Request, body: PlanIn) -> Response:
    """Estimate by simulation how good the answer will be after how many ratings; takes some seconds."""
    service = service_of(request)

    async def is_wanted() -> bool:
        return not service.is_stopping() and not await request.is_disconnected()

    return reply(await service.planner.plan(body.model_dump(exclude_none=True), is_wanted))
