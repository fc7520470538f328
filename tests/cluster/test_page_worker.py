import subprocess
import sys


def test_a_worker_does_not_pay_for_training() -> None:
    code = "import sys, layoutray.cluster.page_worker; print([name for name in ('torch', 'transformers', 'mlflow') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
