"""`layoutray promise`: what reviewed answers of a registered model show, and lower thresholds where they allow it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from layoutray.cli.shared import checked, options, terminal
from layoutray.cli.shared.options import GoalOptions, option


@dataclass(frozen=True, kw_only=True)
class PromiseOptions(GoalOptions):
    """Options of `layoutray promise`."""

    name: str = option(help="registered model, without models:/ and alias")
    review: str = option(
        "--review", type=checked.local_file, required=True, metavar="FILE", help="review.db with the reviewed answers"
    )
    out: str = option(
        "--out",
        default="",
        metavar="FOLDER",
        help="new folder for the checkpoint with lower thresholds, if any is shown; it becomes the champion",
    )
    json: str | None = options.report_file()
    tracking_uri: str = options.tracking_uri()


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("promise", arguments, PromiseOptions)
    # Imported here because PyTorch takes seconds, for which `--help` shall not wait.
    from layoutray import checkpoint
    from layoutray.cli.shared.output_folder import new_folder
    from layoutray.evaluation.acceptance import with_thresholds
    from layoutray.metrics.acceptance import Goal
    from layoutray.review.promise import AnsweredBy, promises
    from layoutray.review.store import ReviewStore
    from layoutray.tasks import document_fields_of
    from layoutray.tracking import registered, runs
    from layoutray.tracking.registered import CHAMPION

    goal = Goal(chosen.precision, chosen.risk)
    folder, version = registered.checkpoint_folder(f"models:/{chosen.name}@{CHAMPION}", chosen.tracking_uri)
    loaded = checkpoint.load(folder)
    model = AnsweredBy((loaded.recipe.name, chosen.name), loaded.thresholds(version))
    store = ReviewStore.open(chosen.review, create=False)
    made = promises(store, None, model, goal)
    store.close()
    for one in made:
        terminal.say(one.text(goal))
    lower = {one.field: one.lowered for one in made if one.lowered is not None}
    if chosen.out and lower:
        with new_folder(chosen.out) as out:
            fields = document_fields_of(loaded.recipe.task)
            lowered = {name: replace(fields[name], accept_from=accept_from) for name, accept_from in lower.items()}
            checkpoint.save(out, with_thresholds(loaded, lowered, version))
            checkpoint.copy_example(folder, out)
            wanted = {"precision": chosen.precision, "risk": chosen.risk}
            run = runs.create_run(chosen.tracking_uri, loaded.recipe.name, "promise", wanted, {})
            run.log_checkpoint(out)
            run.note(out)
            # It is the champion at once: its answers are the same.
            new = run.register(chosen.name)
            registered.promote(chosen.name, new, chosen.tracking_uri)
            names = ", ".join(lowered)
            terminal.say(f"version {new} of {chosen.name} accepts more answers, and is the champion: {names}")
    terminal.show_report({"version": version, "promises": [asdict(one) for one in made]}, chosen.json)
    return 0
