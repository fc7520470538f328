"""`layoutray calibrate`: choose on labelled pages which answers of a checkpoint are accepted without a look."""

from collections.abc import Sequence
from dataclasses import dataclass

from layoutray import checkpoint
from layoutray.cli.shared import checked, options, terminal
from layoutray.cli.shared.evaluation_options import EvaluationOptions
from layoutray.cli.shared.options import option
from layoutray.cli.shared.output_folder import new_folder
from layoutray.errors import InputError
from layoutray.evaluation.acceptance import Goal, choose_thresholds, measure_acceptance, with_thresholds
from layoutray.evaluation.evaluate import evaluate
from layoutray.metrics.acceptance import fewest_answers, highest_precision


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions(EvaluationOptions):
    """Options of `layoutray calibrate`; see `layoutray.evaluation.acceptance.Goal`."""

    split: str = options.split("dev")
    precision: float = option(
        "--precision",
        type=checked.share,
        default=0.99,
        help="wanted precision of the accepted answers (default: 0.99)",
    )
    risk: float = option(
        "--risk",
        type=checked.share,
        default=0.1,
        help="probability that the true precision is lower (default: 0.1)",
    )
    out: str = option("--out", required=True, help="new folder or s3:// address for the checkpoint with thresholds")


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("calibrate", arguments, CalibrateOptions)
    goal = Goal(chosen.precision, chosen.risk)
    out = new_folder(chosen.out)
    tracked, selection = chosen.load(), chosen.selection()
    fields = evaluate(tracked.loaded, selection).fields
    if fields is None:
        raise InputError(
            f"{chosen.checkpoint} answers no fields; calibrate a checkpoint whose recipe has [task.fields]"
        )
    schema = choose_thresholds(fields.schema, fields.judged, fields.scores, goal)
    checkpoint.save(out, with_thresholds(tracked.loaded, schema))
    checkpoint.copy_example(tracked.folder, out)
    if run := tracked.run():
        run.note(out)
    title = f"{tracked.loaded.recipe.name} on {selection.name}, {len(fields.documents)} documents"
    acceptance = measure_acceptance(fields.judged, schema)
    rows = [
        (
            name,
            acceptance.coverage[name].count,
            "-" if field.accept_from is None else f"{field.accept_from:.4f}",
            acceptance.precision[name].count,
            acceptance.precision[name].right,
        )
        for name, field in schema.items()
    ]
    terminal.show_table(title, ("field", "answers", "accepted from", "accepted", "right"), rows)
    for name, field in schema.items():
        if field.accept_from is None:
            terminal.say(_why_none(name, sum(one.answer.name == name for one in fields.judged), goal))
    terminal.say(f"checkpoint with thresholds: {chosen.out}")
    return 0


def _why_none(name: str, answers: int, goal: Goal) -> str:
    """Why no value of a field is accepted, and what helps."""
    needed = fewest_answers(goal.precision, goal.risk)
    if answers < needed:
        return (
            f"no value of {name} is accepted: a precision of {goal.precision} at a risk of {goal.risk} needs at least "
            f"{needed} answers, all of them right, and there are {answers}, which show at most "
            f"{highest_precision(answers, goal.risk):.3f}; label more documents, or give a lower --precision"
        )
    return (
        f"no value of {name} is accepted: too many of its most confident answers are wrong for a threshold that shows "
        f"a precision of {goal.precision} at a risk of {goal.risk}; give a lower --precision"
    )
