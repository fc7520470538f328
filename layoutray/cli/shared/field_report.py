"""What `layoutray train` says: which fields there are, how good the model is, and what to do next."""

from collections.abc import Sequence

from layoutray.cli.shared import terminal
from layoutray.compare.learning_curve import LearningCurve
from layoutray.evaluation.cross_validation import measurement_of
from layoutray.evaluation.evaluate import FieldEvaluation
from layoutray.evaluation.fields import Schema
from layoutray.evaluation.measurement import estimate
from layoutray.evaluation.model_labels import ModelLabels
from layoutray.metrics.acceptance import Goal, fewest_answers
from layoutray.metrics.bootstrap import Estimate
from layoutray.prepare.infer_fields import InferredFields
from layoutray.recipe.schedule import Schedule
from layoutray.store.card import Card
from layoutray.training.job import Job

_MORE = 20
"""Additional documents whose gain is predicted."""


def show_fields(fields: InferredFields) -> None:
    rows = [
        (
            name,
            f"{one.type}, month first" if one.month_first else one.type,
            fields.documents[name],
            "yes" if one.many else "",
            "yes" if one.required else "",
        )
        for name, one in fields.types.items()
    ]
    columns = ("field", "type", "documents", "many", "required")
    terminal.show_table("Fields; --fields NAME:TYPE changes a type", columns, rows)


def show(measured: FieldEvaluation, whole: Job) -> None:
    show_scores(f"{len(measured.documents)} documents, each answered by a model that was not trained on it", measured)
    if not estimate([measurement_of(measured)]).value:
        card, steps = Card.read(whole.examples), whole.recipe.train.steps
        lost = card.missing + card.contradictory
        found = f"; {lost} of {card.values} values were not found in their documents" if lost else ""
        terminal.say(
            f"no answer is right: the models have seen {card.examples['train']} windows in {steps} steps{found}; "
            f"label more documents, train longer with --set train.steps={2 * steps}, or start from a model that was "
            "trained on other documents with --init"
        )


def show_scores(title: str, measured: FieldEvaluation) -> None:
    documents = measured.documents
    rows = [_row(name, measured) for name in measured.schema]
    terminal.show_table(title, ("field", "with a value", "F1", "precision", "wrong", "missing"), rows)
    f1, answered = estimate([measurement_of(measured)]).interval, sum(bool(one.answers) for one in documents)
    terminal.say(
        f"F1 of all fields: {f1.value:.2f} (95 % interval {f1.low:.2f} to {f1.high:.2f}); "
        f"{answered} of {len(documents)} documents answered"
    )


def show_model_labels(labels: ModelLabels, measured: FieldEvaluation) -> None:
    """Say what the scores mean where a model stated the values."""
    names = [labels.stated_by[one.doc_id] for one in measured.documents if one.doc_id in labels.stated_by]
    if not names:
        return
    who = " and ".join(dict.fromkeys(names))
    lost = sum(len(labels.not_found.get(one.doc_id, ())) for one in measured.documents)
    terminal.say(
        f"{who} stated the values of {len(names)} of these {len(measured.documents)} documents, not a person: for "
        f"them, the scores and thresholds say how far the model agrees with {who}; {lost} values that stand nowhere "
        "in their document are not counted, and not learned"
    )


def gain(measured: FieldEvaluation, by_half: FieldEvaluation, planned: Schedule) -> Estimate:
    """What more documents would add to the F1 of a model of all documents."""
    points = {planned.half: [measurement_of(by_half)], planned.in_training: [measurement_of(measured)]}
    curve = LearningCurve.of(points)
    return curve.predicted(planned.documents + _MORE).minus(curve.predicted(planned.documents))


def show_gain(gained: Estimate | None) -> None:
    if gained is None:
        terminal.say(f"what {_MORE} more documents would bring cannot be said from so few")
        return
    one = gained.interval
    terminal.say(
        f"{_MORE} more documents would change F1 by about {one.value:+.2f} ({one.low:+.2f} to {one.high:+.2f}), if the "
        "error goes on to fall as it did from half of the documents to all"
    )


def show_thresholds(measured: FieldEvaluation, schema: Schema, goal: Goal) -> None:
    """Say of which fields some answers need no look."""
    accepted = {
        name: sum(one.answer.name == name and field.accepts(one.answer.confidence) for one in measured.judged)
        for name, field in schema.items()
    }
    for name, count in accepted.items():
        if count:
            terminal.say(f"{name}: from a confidence of {schema[name].accept_from:.2f}, {count} answers need no look")
    if none := [name for name, count in accepted.items() if not count]:
        terminal.say(
            f"every answer of {', '.join(none)} needs a look: a precision of {goal.precision} is shown by "
            f"{fewest_answers(goal.precision, goal.risk)} answers of a field or more, almost all of them right"
        )


def show_next_steps(out: str, name: str) -> None:
    terminal.say(f"""
the model is models:/{name}@candidate, and {out}/model; what to do next:
  layoutray predict {out}/model OTHER_FILES --out {out}/answers    # answer other files
  layoutray review {out}/answers                                   # correct the answers in the browser
  layoutray train FOLDER {out}/answers --out NEW_FOLDER            # train on what was corrected, too
  layoutray select {out}/model {out}/answers --count 20 --out {out}/next    # which of them to label next
  layoutray serve models:/{name}@candidate --review review.db      # answer over HTTP, and ask a person, yes or no
  layoutray promise {name} --review review.db    # what the reviewed answers show of those that nobody looks at""")


def show_queue(documents: int, folders: Sequence[str], queue: str) -> None:
    """Say how to review the documents whose answers differ from the values of a model."""
    terminal.say(f"""
{documents} documents have answers that differ from the values of their model, the most certain first:
  layoutray review {queue}    # choose which value is right
  layoutray train {" ".join(folders)} {queue} --out NEW_FOLDER    # train on the chosen ones""")


def _row(name: str, measured: FieldEvaluation) -> Sequence[object]:
    documents = measured.documents
    score = measured.scores.normal.get(name)
    with_value = [one for one in documents if any(field.name == name for field in one.expected)]
    missing = sum(all(answer.name != name for answer in one.answers) for one in with_value)
    if score is None or score.precision is None:
        return name, len(with_value), "0.00" if score else "-", "no answers", 0, missing
    wrong = score.answered - score.correct
    return name, len(with_value), f"{score.f1:.2f}", f"{score.precision:.2f}", wrong, missing
