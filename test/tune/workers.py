#!/usr/bin/env python3
"""Workers that share a tuning without knowing of each other.

Eight workers tune one space by prediction, each its shard, over one cache. Two are
killed, their shards run again, and one shard runs twice. The records must then be
complete, and equal to those of one process that did everything.

    workers.py PENSTOCK LIBRARY [--nginx NGINX]

With --nginx each worker has a cache directory of its own, and they share a server.
"""
import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

WORKERS = 8
KILLED = (2, 5)


def commandOf(options, cache, *more):
    return [options.penstock, "tune", options.library, options.kernel, "--target", "sm_100a",
            "--times", "predicted", "--shape", options.shape, "--cache", str(cache), "--jobs", "1",
            "--json", *more]


def environmentOf(remote):
    environment = dict(os.environ)
    for name in ("PENSTOCK_CACHE_DIR", "PENSTOCK_CACHE_SEEDS", "PENSTOCK_CACHE_REMOTE"):
        environment.pop(name, None)
    if remote:
        environment |= {"PENSTOCK_CACHE_REMOTE": remote, "PENSTOCK_CACHE_REMOTE_WRITES": "1"}
    return environment


def run(options, cache, *more, remote=""):
    done = subprocess.run(commandOf(options, cache, *more), env=environmentOf(remote),
                          stdout=subprocess.PIPE, check=True, timeout=300)
    return json.loads(done.stdout)["reports"][0]


def timesOf(report):
    """What the records say: by point, its time or the code of its removal."""
    return {tuple(sorted(c["fields"].items())): c.get("seconds", c.get("code"))
            for c in report["candidates"]}


def bestOf(report):
    return tuple(sorted(report["candidates"][report["best"]]["fields"].items()))


def startNginx(nginx, folder):
    """Returns the process and its address."""
    port = random.Random(os.getpid()).randrange(20000, 40000)
    root = folder / "server"
    (root / "tmp").mkdir(parents=True)
    user = "user root root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(f"""
{user} daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 256; }}
http {{ access_log off; client_max_body_size 64m;
  client_body_temp_path {root}/tmp; proxy_temp_path {root}/tmp; fastcgi_temp_path {root}/tmp;
  uwsgi_temp_path {root}/tmp; scgi_temp_path {root}/tmp;
  server {{ listen 127.0.0.1:{port};
    location / {{ root {root}; dav_methods PUT DELETE; create_full_put_path on; }} }} }}
""")
    server = subprocess.Popen([nginx, "-c", str(folder / "nginx.conf"), "-p", str(folder),
                               "-e", str(folder / "nginx.log")])
    address = f"http://127.0.0.1:{port}"
    for _ in range(100):
        try:
            urllib.request.urlopen(address + "/none")
        except urllib.error.HTTPError:
            return server, address
        except OSError:
            time.sleep(0.1)
    sys.exit("nginx does not answer: " + (folder / "nginx.log").read_text())


def workers(options, folder, remote):
    def cacheOf(worker):
        return folder / (f"worker{worker}" if remote else "shared")

    running = {}
    for worker in range(WORKERS):
        running[worker] = subprocess.Popen(
            commandOf(options, cacheOf(worker), "--shard", f"{worker}/{WORKERS}"),
            env=environmentOf(remote), stdout=subprocess.DEVNULL)
    killed = 0
    # Early, so that they cannot have finished on a fast machine either.
    time.sleep(0.05)
    for worker in KILLED:
        killed += running[worker].poll() is None
        running[worker].send_signal(signal.SIGKILL)
    for worker, process in running.items():
        code = process.wait(timeout=300)
        assert worker in KILLED or code == 0, f"worker {worker} ended with {code}"
    assert killed, "the workers ended before they could be killed"
    for worker in KILLED:  # on another machine, with an empty cache
        run(options, cacheOf(worker + 100), "--shard", f"{worker}/{WORKERS}", remote=remote)
    run(options, cacheOf(200), "--shard", f"0/{WORKERS}", "--again", remote=remote)
    return run(options, cacheOf(300), "--records", remote=remote)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("penstock")
    parser.add_argument("library")
    parser.add_argument("--nginx")
    parser.add_argument("--kernel", default="MatmulV2")
    parser.add_argument("--shape", default="M=2048,N=2048,K=2048")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-workers-") as name:
        folder = pathlib.Path(name)
        alone = run(options, folder / "alone")
        server, remote = startNginx(options.nginx, folder) if options.nginx else (None, "")
        try:
            together = workers(options, folder, remote)
        finally:
            if server:
                server.terminate()
                server.wait()
    missing = [point for point, value in timesOf(together).items() if value is None]
    assert not missing, f"no record of {missing}"
    assert timesOf(together) == timesOf(alone), "the records differ from those of one process"
    assert bestOf(together) == bestOf(alone)
    print(f"{len(timesOf(together))} points, the best is {bestOf(together)}")


if __name__ == "__main__":
    main()
