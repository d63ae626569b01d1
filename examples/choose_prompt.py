"""Choose the best of 600 prompts with 1,500 model calls.

Here a random generator plays the model, so that the program runs anywhere and can compare its answer with the truth.
In your program, `judge` calls a model and compares its answer with the expected one.
"""

import functools
import itertools
import math
import random

import boxthirding as b3

ROLES = {
    "teacher": "You are a teacher.",
    "lawyer": "You are a lawyer.",
    "clerk": "You are a careful clerk.",
    "engineer": "You are an engineer.",
    "nobody": "",
}
MANNERS = {
    "steps": "Think step by step.",
    "at once": "Answer at once.",
    "facts": "List what you know first.",
    "twice": "Check your answer twice.",
    "brief": "Be brief.",
}
FORMATS = {
    "word": "Answer in one word.",
    "JSON": "Answer in JSON.",
    "table": "Answer in a table.",
    "plain": "Answer in plain text.",
}
ENDINGS = {
    "thanks": "Thank you.",
    "urgent": "It is urgent.",
    "costly": "Mistakes are costly.",
    "ask": "Ask if unsure.",
    "guess": "Guess if unsure.",
    "end": "",
}

# Arms as a mapping: the key is the label that is printed, the value is passed to `judge`.
PROMPTS = {
    ", ".join(names): " ".join(filter(None, (ROLES[names[0]], MANNERS[names[1]], FORMATS[names[2]], ENDINGS[names[3]])))
    for names in itertools.product(ROLES, MANNERS, FORMATS, ENDINGS)
}
EXAMPLES = [
    {"question": f"Question {number}", "difficulty": random.Random(number).gauss(0, 2)} for number in range(300)
]
CALLS = 1_500


@functools.cache
def skill(prompt: str) -> float:
    """Return the true quality of a prompt: the sum of the qualities of its sentences, plus one for the whole prompt."""
    sentences = [sentence for sentence in prompt.split(".") if sentence]
    return sum(random.Random(words).gauss(0, 0.5) for words in [*sentences, prompt])


def chance(prompt: str, example: dict) -> float:
    """Return the probability of a right answer. Hard examples are hard for every prompt."""
    return 1 / (1 + math.exp(example["difficulty"] - skill(prompt)))


def judge(prompt: str, example: dict) -> float:
    """Return 1 if the model is right, else 0. The same call gives the same answer, as at temperature 0."""
    return float(random.Random(prompt + example["question"]).random() < chance(prompt, example))


def accuracy(prompt: str) -> float:
    """Return the true share of right answers. Measuring it for every prompt would cost too much."""
    return sum(chance(prompt, example) for example in EXAMPLES) / len(EXAMPLES)


def main() -> None:
    """Search, measure the best three prompts again, and compare with the truth."""
    # `examples` pairs the prompts: pull k of every prompt uses the same example, so that no prompt wins because it got
    # the easy ones.
    found = b3.find_best(PROMPTS, judge, examples=EXAMPLES, budget=CALLS)
    print(found)

    # Winners look better than they are. New calls, on examples that they have not seen, measure how good they are.
    print(found.confirm(3, pulls=60))

    truth = {label: accuracy(prompt) for label, prompt in PROMPTS.items()}
    best, typical = max(truth.values()), sum(truth.values()) / len(truth)
    print(f"in truth {truth[found.label]:.1%} right; the best prompt {best:.1%}, a typical one {typical:.1%}")
    print(f"prompt: {found.best}")


if __name__ == "__main__":
    main()
