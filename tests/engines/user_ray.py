#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A sandbox of Ray's whose image is a folder. usage: FOLDER NETWORK COMMAND"""
import json, os, sys
from ray.experimental.sandbox.backend.gvisor import GVisorSandboxBackend
from ray.experimental.sandbox.config import SandboxConfig
from ray.experimental.sandbox.image_manager import BaseImageManager, get_default_oci_spec

class Folder(BaseImageManager):
    def pull_image(self, image, timeout_seconds=120.0, instance_id=None): return image
    def get_image_dir(self, image): return image
    def get_image_config(self, image): return {}
    def get_workdir(self, image): return "/"
    def get_envs(self, image): return []
    def create_oci_spec(self, image, network="none", **_):
        spec = get_default_oci_spec()
        spec["root"] = {"path": image, "readonly": True}
        spec["process"].update(args=["/bin/sleep", "1000000"], cwd="/", env=["PATH=/bin"], terminal=False)
        if network == "host":
            spec["linux"]["namespaces"] = [n for n in spec["linux"]["namespaces"] if n["type"] != "network"]
        return spec
    def prepare_oci_bundle(self, root_dir, image, network="none", **_):
        path = os.path.join(root_dir, "config.json")
        with open(path, "w") as f:
            json.dump(self.create_oci_spec(image, network), f)
        return path

image, network, command = sys.argv[1:]
backend = GVisorSandboxBackend(Folder())
box = backend.create_sandbox(SandboxConfig(image=image, network=network, rootless=False, timeout_seconds=20, shell="/bin/sh"))
try:
    if network == "none":
        print(backend.exec_command(box, ["/bin/id", "-u"], user="7:8", cwd="/bin", env={"A": "b"}).stdout.strip(), backend.get_status(box))
    r = backend.exec_command(box, command)
    print(r.stdout, end="")
    print("exit", r.exit_code)
finally:
    backend.delete_sandbox(box)
