#!/usr/bin/env python3
"""S3 with signatures that are checked: two caches share kernels through moto's server, and a
wrong secret is refused once.

    s3.py TOOL LIBRARY WORK

Makes a virtual environment with moto in WORK. Exits with 77 if that is not possible.
"""
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.request
import venv

tool, library, work = sys.argv[1:]
work = pathlib.Path(work)
environment = work / "venv"
python = environment / "bin" / "python"
if subprocess.run([str(python), "-c", "import moto, boto3"], capture_output=True).returncode \
        if python.exists() else True:
    venv.create(environment, with_pip=True)
    installed = subprocess.run([str(python), "-m", "pip", "install", "-q", "moto[server,s3]", "boto3"],
                               capture_output=True, text=True)
    if installed.returncode:
        print("moto cannot be installed: " + installed.stderr)
        sys.exit(77)

SETUP = """
import boto3, json, sys
kw = dict(endpoint_url=sys.argv[1], aws_access_key_id='x', aws_secret_access_key='y',
          region_name='us-east-1')
boto3.client('s3', **kw).create_bucket(Bucket='kernels')
iam = boto3.client('iam', **kw)
iam.create_user(UserName='user')
key = iam.create_access_key(UserName='user')['AccessKey']
everything = [{'Effect': 'Allow', 'Action': 's3:*', 'Resource': '*'}]
iam.put_user_policy(UserName='user', PolicyName='p', PolicyDocument=json.dumps(
    {'Version': '2012-10-17', 'Statement': everything}))
print(key['AccessKeyId'], key['SecretAccessKey'])
"""

import socket
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
url = f"http://127.0.0.1:{port}"
server = subprocess.Popen([str(environment / "bin" / "moto_server"), "-H", "127.0.0.1", "-p", str(port)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=1)
            break
        except OSError:
            time.sleep(0.1)

    def check_signatures_after(requests):
        """moto checks signatures and permissions after this many requests."""
        urllib.request.urlopen(urllib.request.Request(
            url + "/moto-api/reset-auth", data=str(requests).encode(), method="POST",
            headers={"Content-Type": "text/plain"}))

    check_signatures_after(1000)
    key, secret = subprocess.run([str(python), "-c", SETUP, url], check=True, capture_output=True,
                                 text=True).stdout.split()
    check_signatures_after(0)

    def warm(name, writes, secret_text):
        variables = dict(os.environ, PENSTOCK_CACHE_DIR=str(work / name), AWS_ENDPOINT_URL=url,
                         PENSTOCK_CACHE_REMOTE="s3://kernels/team", AWS_ACCESS_KEY_ID=key,
                         AWS_SECRET_ACCESS_KEY=secret_text, AWS_REGION="us-east-1",
                         PENSTOCK_CACHE_REMOTE_WRITES=writes, no_proxy="127.0.0.1")
        subprocess.run(["rm", "-rf", str(work / name)], check=True)
        run = subprocess.run([tool, "warm", library, "--json"], env=variables, capture_output=True,
                             text=True)
        print(name, run.stdout, run.stderr)
        return json.loads(run.stdout), run.stderr

    first, _ = warm("first", "1", secret)
    assert first["cached"] == 0 and first["compiled"] > 3, first
    second, said = warm("second", "0", secret)
    assert second["compiled"] == 0 and second["cached"] == first["compiled"], second
    assert "PS1724" not in said, said
    wrong, said = warm("wrong", "0", "not-the-secret")
    assert wrong["cached"] == 0 and wrong["compiled"] == first["compiled"], wrong
    assert "PS1724" in said and "403" in said, said
finally:
    server.terminate()
    server.wait()
