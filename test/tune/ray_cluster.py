#!/usr/bin/env python3
"""penstock-ray on a cluster of several raylets on this machine, one of which is killed.

    ray_cluster.py PENSTOCK LIBRARY DRIVER ENVIRONMENT

ENVIRONMENT is a virtual environment with Ray, which is made if it is missing. Ends with
77 if it cannot be made.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SHARDS = 12
SHAPE = "M=2048,N=2048,K=2048"


def enter(environment):
    """Continues in the virtual environment."""
    python = pathlib.Path(environment) / "bin/python3"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    if subprocess.run([python, "-c", "import ray"], stderr=subprocess.DEVNULL).returncode:
        if subprocess.run([python, "-m", "pip", "install", "-q", "ray"]).returncode:
            print("skipped: Ray cannot be installed")
            sys.exit(77)
    if pathlib.Path(sys.prefix).resolve() != pathlib.Path(environment).resolve():
        os.execv(python, [str(python), *sys.argv])


def tableOf(file):
    return [(entry["kernel"], entry["class"], entry["fields"], entry["seconds"])
            for entry in json.loads(file.read_text())["tuned"]]


def main():
    penstock, library, driver, environment = sys.argv[1:]
    enter(environment)
    import ray
    from ray.cluster_utils import Cluster
    tune = [library, "MatmulV2", "--target", "sm_100a", "--times", "predicted", "--shape", SHAPE,
            "--jobs", "1"]
    with tempfile.TemporaryDirectory(prefix="penstock-ray-", ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        subprocess.run([penstock, "tune", *tune, "--cache", folder / "alone", "--export",
                        folder / "alone.json"], check=True)
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        nodes = [cluster.add_node(num_cpus=1) for _ in range(3)]
        cluster.wait_for_nodes()
        worker = subprocess.Popen(
            [sys.executable, driver, "--address", cluster.address, "--shards", str(SHARDS),
             "--penstock", penstock, "--export", folder / "ray.json", "tune", *tune, "--cache",
             folder / "shared"])
        # When the first records are there, workers run on all nodes.
        while worker.poll() is None and not any((folder / "shared").glob("v1/*/*")):
            time.sleep(0.02)
        assert worker.poll() is None, "the driver ended before a node could be killed"
        cluster.remove_node(nodes[1], allow_graceful=False)
        assert worker.poll() is None, "the driver ended before the node was killed"
        code = worker.wait(timeout=600)
        assert code == 0, f"the driver ended with {code}"
        ray.init(address=cluster.address, log_to_driver=False)
        # The head notices some seconds later that a node is gone.
        alive, end = 4, time.monotonic() + 60
        while alive != 3 and time.monotonic() < end:
            alive = sum(node["Alive"] for node in ray.nodes())
            time.sleep(0.2)
        assert alive == 3, f"{alive} nodes are left"
        ray.shutdown()
        cluster.shutdown()
        assert tableOf(folder / "ray.json") == tableOf(folder / "alone.json"), "another table"
        print("the same table:", tableOf(folder / "ray.json"))


if __name__ == "__main__":
    main()
