"""The load of the machine, in MLflow's section of system metrics."""

from layoutray.tracking.system import SystemLoad


def test_processor_and_memory_are_measured_at_most_every_ten_seconds() -> None:
    load = SystemLoad()
    measured = load.measure()
    assert measured["system/system_memory_usage_megabytes"] > 0
    assert 0 <= measured["system/cpu_utilization_percentage"] <= 100
    assert load.measure() == {}
