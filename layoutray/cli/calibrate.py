"""`layoutray calibrate`: choose on labelled pages which answers of a checkpoint are accepted without a look."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.evaluation_options import EvaluationOptions
from layoutray.cli.shared.options import GoalOptions, option
from layoutray.errors import InputError

if TYPE_CHECKING:
    from layoutray.evaluation.fields import JudgedAnswer, Schema
    from layoutray.metrics.acceptance import Goal


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions(EvaluationOptions, GoalOptions):
    """Options of `layoutray calibrate`."""

    split: str = options.split("dev")
    second_looks: bool = option(
        "--second-looks",
        action="store_true",
        help="also fit confidences to how well words were read, to the values of labelled documents, and to amounts "
        "that differ by a rounding; stores the labelled values in the checkpoint",
    )
    out: str = option("--out", required=True, help="new folder or s3:// address for the checkpoint with thresholds")


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("calibrate", arguments, CalibrateOptions)
    # Imported here because PyTorch takes seconds, for which `--help` shall not wait.
    from layoutray import checkpoint
    from layoutray.cli.shared.output_folder import new_folder
    from layoutray.evaluation.acceptance import choose_thresholds, with_thresholds
    from layoutray.evaluation.evaluate import evaluate
    from layoutray.evaluation.reference import with_reference
    from layoutray.evaluation.second_looks import second_looks
    from layoutray.metrics.acceptance import Goal

    goal = Goal(chosen.precision, chosen.risk)
    with new_folder(chosen.out) as out:
        tracked, selection = chosen.load(), chosen.selection()
        fields = evaluate(tracked.loaded, selection).fields
        if fields is None:
            raise InputError(
                f"{chosen.checkpoint} answers no fields; calibrate a checkpoint whose recipe has [task.fields]"
            )
        schema, judged = fields.schema, fields.judged
        if chosen.second_looks:
            if any(field.second_look for field in schema.values()):
                raise InputError(f"{chosen.checkpoint} has second looks; give the checkpoint without them")
            schema, judged = second_looks(fields.documents, schema)
        schema = choose_thresholds(schema, judged, fields.scores, goal)
        documents = with_reference(tracked.loaded, selection, fields.documents, judged, schema)
        checkpoint.save(out, with_thresholds(documents, schema))
        checkpoint.copy_example(tracked.folder, out)
        if run := tracked.run():
            run.note(out)
        title = f"{tracked.loaded.recipe.name} on {selection.name}, {len(fields.documents)} documents"
        _show(title, judged, schema, goal)
        terminal.say(f"checkpoint with thresholds: {chosen.out}")
    return 0


def _show(title: str, judged: "Sequence[JudgedAnswer]", schema: "Schema", goal: "Goal") -> None:
    from layoutray.evaluation.acceptance import measure_acceptance
    from layoutray.metrics.acceptance import fewest_answers, highest_precision

    acceptance = measure_acceptance(judged, schema)
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
        if field.accept_from is not None:
            continue
        answers, needed = sum(one.answer.name == name for one in judged), fewest_answers(goal.precision, goal.risk)
        why = (
            f"a precision of {goal.precision} at a risk of {goal.risk} needs at least {needed} answers, all of them "
            f"right, and there are {answers}, which show at most {highest_precision(answers, goal.risk):.3f}; label "
            "more documents, or give a lower --precision"
            if answers < needed
            else "too many of its most confident answers are wrong for a threshold that shows a precision of "
            f"{goal.precision} at a risk of {goal.risk}; give a lower --precision"
        )
        terminal.say(f"no value of {name} is accepted: {why}")
