import subprocess
import sys


def test_a_reader_does_not_pay_for_a_model() -> None:
    imports = "import sys, layoutray.cluster.endpoint.page_reader"
    code = f"{imports}; print([name for name in ('torch', 'transformers', 'mlflow') if name in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
