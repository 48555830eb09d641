"""# loader-result-inconsistent (LDR502)

## What it does
Follows the answer of weight loaders that can be asked whether they loaded (`return_success`): a loader that on some
path returns nothing though it was asked, a caller that asks and does not look at the answer, a caller that records a
parameter as loaded after its loader said no.

A wrapper that hands all its keywords on to another loader hands the question on, and has to hand the answer back;
`-> None` says that nobody asks it. The same goes for what a whole loader answers: where its annotation says that it
returns the names of what it loaded, it drops what the inner loader answers, or hands on the answer of one that gives
none.

## Why is this bad?
With expert parallelism a loader refuses the experts of other ranks. A missing answer counts as a refusal, so a weight
that was loaded is searched for again, or reported as missing. An answer that is not looked at turns the refusal into
success: the check that every parameter was loaded passes over a parameter that no one has written. Of a loader that
answers nothing, no weight counts as loaded: a check stops a load that was right, or is left out.

It is a hazard, not an error: no weight is overwritten with wrong bytes, and whether a check is fooled depends on which
rank holds which experts.

## Example
    for param_name, weight_name, expert_id, shard_id in mapping:
        target = name.replace(weight_name, param_name)
        done = params[target].weight_loader(params[target], w, target, shard_id, expert_id, return_success=True)
        if done:
            break
    loaded.add(target)

## Use instead
        if done:
            loaded.add(target)
            break

## Fix safety
There is no repair: whether a path loaded, and what a caller does about a refusal, is for people to say.

## References
- vllm 0.33.0, models/deepseek_v4/nvidia/model.py: the target of an expert's weight is recorded behind the search for a
  loader that takes it, found or not; the draft model beside it records only what was taken.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Fact, Observation
from loaderlint.rules.base import Rule, always, one_line

_SAYS = {
    "unanswered": "`{}` can be asked whether it loaded, but gives no answer on this path",
    "ignored": "`{}` is asked whether it loaded, but nobody looks at its answer",
    "dropped": "the answer of `{}` is dropped, and this function gives none",
    "handed on": "`{}` does not say what it loaded, and a caller hands that on as its answer",
    "recorded": "`{}` is recorded as loaded also where its loader refused it",
}


def message(event: Observation) -> str:
    """Says who does not answer, or what is done with an answer."""
    return _SAYS[event.detail].format(one_line(event.subject))


RULE = Rule[Observation](
    "LDR502",
    "loader-result-inconsistent",
    Category.HAZARD,
    "0.1.0",
    False,
    always,
    message,
    Fact.ANSWER_LOST,
    "a refusal then counts as success, or success as a refusal",
)
