"""The files are valid by the schemas of Kubernetes and KubeRay. No cluster is needed; CEL rules are not evaluated."""

import copy
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest

from tests.infra.manifests import REPOSITORY, Manifest, below, is_rays, manifests, pods, strict

KUBERNETES = "1.33"
ALL = manifests()
RAYS = [name for name, manifest in ALL.items() if is_rays(manifest)]


def accept_of_rays(manifest: Manifest, schemas: Path) -> None:
    schema = json.loads((schemas / "kuberay" / f"{manifest['kind'].lower()}s.v1.json").read_text())
    jsonschema.validate(manifest, strict(schema), cls=jsonschema.Draft202012Validator)
    for pod in pods(manifest):
        accept_of_kubernetes(pod)


def accept_of_kubernetes(manifest: Manifest) -> None:
    kubernetes_validate.validate(manifest, KUBERNETES, strict=True)


@pytest.mark.parametrize("name", RAYS)
def test_kuberay_knows_every_key(name: str, schemas_root: Path) -> None:
    accept_of_rays(ALL[name], schemas_root)


@pytest.mark.parametrize("name", sorted(ALL.keys() - set(RAYS)))
def test_kubernetes_knows_every_key(name: str) -> None:
    accept_of_kubernetes(ALL[name])


def misspell_a_pool(cluster: Manifest) -> None:
    cluster["spec"]["workerGroupSpecs"][0]["minReplica"] = 1


def misspell_the_token(cluster: Manifest) -> None:
    cluster["spec"]["authOptions"]["secret"] = "x"


def count_in_words(cluster: Manifest) -> None:
    cluster["spec"]["workerGroupSpecs"][0]["maxReplicas"] = "eight"


def misspell_in_a_pod(cluster: Manifest) -> None:
    container(cluster)["volumeMount"] = []


def ask_for_nonsense(cluster: Manifest) -> None:
    container(cluster)["resources"]["limits"]["memory"] = ["8Gi"]


def container(cluster: Manifest) -> dict[str, Any]:
    return cluster["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize(
    "spoil", [misspell_a_pool, misspell_the_token, count_in_words, misspell_in_a_pod, ask_for_nonsense]
)
def test_a_mistake_is_refused(spoil: Callable[[Manifest], None], schemas_root: Path) -> None:
    cluster = copy.deepcopy(ALL["RayCluster/layoutray"])
    spoil(cluster)
    with pytest.raises(jsonschema.ValidationError):
        accept_of_rays(cluster, schemas_root)


def test_a_mistake_in_the_tracking_server_is_refused() -> None:
    server = copy.deepcopy(ALL["Deployment/layoutray-mlflow"])
    server["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]["httpget"] = {}
    with pytest.raises(jsonschema.ValidationError):
        accept_of_kubernetes(server)


def test_what_is_referred_to_is_made_here_or_by_a_command_of_the_guide() -> None:
    guide = (REPOSITORY / "docs/cluster.md").read_text().replace("\\\n", " ")
    secrets = {shlex.split(line)[4] for line in re.findall(r"^kubectl create secret generic .*", guide, re.M)}
    used = {ref["name"] for ref in below(list(ALL.values()), "secretRef")} | set(
        below(list(ALL.values()), "secretName")
    )
    assert used == secrets
    for reference in below(list(ALL.values()), "configMapRef"):
        assert f"ConfigMap/{reference['name']}" in ALL
    for claim in below(list(ALL.values()), "claimName"):
        assert f"PersistentVolumeClaim/{claim}" in ALL
    for pod in (pod for manifest in ALL.values() for pod in pods(manifest)):
        volumes = {volume["name"] for volume in pod["spec"].get("volumes", [])}
        assert {mount["name"] for mounts in below(pod, "volumeMounts") for mount in mounts} == volumes


def test_nobody_gets_in_without_the_token_and_no_pod_runs_as_root() -> None:
    clusters = [ALL["RayCluster/layoutray"]["spec"], ALL["RayService/extractor"]["spec"]["rayClusterConfig"]]
    assert [cluster["authOptions"]["mode"] for cluster in clusters] == ["token", "token"]
    for pod in (pod for manifest in ALL.values() for pod in pods(manifest)):
        assert all(one["securityContext"]["runAsNonRoot"] for one in pod["spec"]["containers"])


def test_the_clusters_run_the_ray_that_was_tested() -> None:
    (pinned,) = re.findall(r"^ray==(.+)$", (REPOSITORY / "constraints.txt").read_text(), re.M)
    assert set(below(list(ALL.values()), "rayVersion")) == {pinned}


def test_the_job_finds_the_cluster() -> None:
    assert f"RayCluster/{ALL['RayJob/layoutray-ingest']['spec']['clusterSelector']['ray.io/cluster']}" in ALL
