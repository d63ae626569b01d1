"""Executors behind one interface, `ExecutorAdapter`: pools of threads or processes, and Dask."""

from typing import Any

from boxthirding.executors.adapter import WORKER_DIED, ExecutorAdapter
from boxthirding.executors.dask import DaskAdapter, client_of

__all__ = ["WORKER_DIED", "ExecutorAdapter", "adapter_for"]


def adapter_for(executor: Any) -> ExecutorAdapter:
    """Return the adapter of an executor or of a Dask client; raise `InvalidInput` for anything else."""
    client = client_of(executor)
    return ExecutorAdapter(executor) if client is None else DaskAdapter(client)
