"""For each field of a container's body, values that nobody may send."""

from typing import Any

from containers.hardening import SECCOMP_PROFILE
from tests.containers.socket_proxy.made import OTHER

SECURED = f"seccomp={SECCOMP_PROFILE}"
NO_MORE = "no-new-privileges:true"
OURS = {"Type": "volume", "Source": "berth-1", "Target": "/data"}
BIND = {"Type": "bind", "Source": "/", "Target": "/data"}

HOSTILE: dict[str, list[Any]] = {
    # More of the host.
    "HostConfig.Privileged": [True, 1, "true", None],
    "HostConfig.Binds": [["/:/host"], ["/var/run/docker.sock:/s"], ["berth-1:/data"], None],
    "HostConfig.Mounts": [
        [BIND], [{**BIND, "Type": "volume"}], [{**BIND, "Type": "volume", "Source": "postgres"}],
        [{**BIND, "Type": "volume", "Source": "berth_data"}], [{"Type": "tmpfs", "Target": "/data"}],
        [{"Type": "cluster", "Target": "/data"}], [{"Type": "image", "Source": "i", "Target": "/data"}],
        [{"Type": "npipe", "Target": "/data"}], [{"Type": "volume", "Source": "berth-1", "Target": "/etc"}],
        [{**OURS, "VolumeOptions": {"DriverConfig": {"Name": "local", "Options": {"o": "bind", "device": "/"}}}}],
        [{**OURS, "VolumeOptions": {"DriverConfig": {"Name": "nfs"}}}],
        [{"Type": "volume", "Source": "berth-1", "Target": "/data", "BindOptions": {"Propagation": "shared"}}],
        [{"Type": "volume", "Source": "../berth-1", "Target": "/data"}],
        [{"Type": "volume", "Source": "berth-1", "Target": "/data", "VolumeOptions": {"Subpath": "../x"}}],
    ],
    "HostConfig.Devices": [[{"PathOnHost": "/dev/sda", "PathInContainer": "/dev/sda", "CgroupPermissions": "rwm"}]],
    "HostConfig.DeviceCgroupRules": [["a *:* rwm"], []],
    "HostConfig.DeviceRequests": [[{"Driver": "nvidia", "Count": -1}]],
    "HostConfig.VolumesFrom": [["postgres"]],
    "HostConfig.VolumeDriver": ["nfs", ""],
    "HostConfig.ContainerIDFile": ["/etc/cron.d/x"],
    "HostConfig.StorageOpt": [{"size": "1T"}],
    "HostConfig.CgroupParent": ["/"],
    "HostConfig.Cgroup": ["container:x"],
    "HostConfig.CgroupnsMode": ["host", ""],
    "HostConfig.Runtime": ["runc", "/bin/sh", ""],
    "HostConfig.Isolation": ["process"],
    "HostConfig.Annotations": [{"io.x": "y"}],
    # Namespaces.
    "HostConfig.NetworkMode": [
        "default", "nat", "container:postgres", f"container:{OTHER}x", "bridge ", "Host", "berth_default", "ns:/x", "",
    ],
    "HostConfig.PidMode": ["host", "container:x", " "],
    "HostConfig.IpcMode": ["host", "container:x", "shareable", ""],
    "HostConfig.UTSMode": ["host"],
    "HostConfig.UsernsMode": ["host"],
    # Rights.
    "HostConfig.CapAdd": [
        ["ALL"], ["SYS_ADMIN"], ["CAP_SYS_ADMIN"], ["SYS_PTRACE"], ["NET_ADMIN", "NET_RAW", "SYS_MODULE"], ["all"],
        "ALL", ["DAC_READ_SEARCH", "SYS_ADMIN"],
    ],
    "HostConfig.CapDrop": [[], None, ["CHOWN"], ["all"]],
    "HostConfig.SecurityOpt": [
        [], None, [NO_MORE, "seccomp=unconfined"], ["seccomp=unconfined"], ["no-new-privileges:false", SECURED],
        [NO_MORE, SECURED, "apparmor=unconfined"], [NO_MORE, "label=disable"], [NO_MORE, SECURED, "seccomp=unconfined"],
        [NO_MORE, SECURED, "systempaths=unconfined"], [NO_MORE, 'seccomp={"defaultAction":"SCMP_ACT_ALLOW"}'],
        [SECURED],
    ],
    "HostConfig.GroupAdd": [["0"], ["docker"]],
    "HostConfig.MaskedPaths": [[], None],
    "HostConfig.ReadonlyPaths": [[], None],
    "HostConfig.Sysctls": [{"kernel.core_pattern": "|/x"}, {"net.ipv4.ip_forward": "1"}],
    "HostConfig.Tmpfs": [
        {"/tmp": "rw,exec,suid,dev"}, {"/etc": "rw,noexec,nosuid,nodev,size=1m"}, {"/tmp": ""},
        *[{path: "rw,noexec,nosuid,nodev,size=1m"}
          for path in ("/data/x", "/proc", "/dev", "/sys/fs", "/usr/bin", "/run/secrets", "x", "/")],
    ],
    # Limits.
    "HostConfig.Memory": [0, -1, True, "1", None, 1.5],
    "HostConfig.MemorySwap": [-1, 0],
    "HostConfig.PidsLimit": [0, -1, None],
    "HostConfig.OomKillDisable": [True],
    "HostConfig.OomScoreAdj": [-1000],
    "HostConfig.ShmSize": [1 << 40],
    "HostConfig.Ulimits": [
        [{"Name": "nofile", "Soft": 1 << 30, "Hard": 1 << 30}], [{"Name": "rtprio", "Soft": 9, "Hard": 9}],
    ],
    "HostConfig.CpuRealtimeRuntime": [950000],
    "HostConfig.CpuShares": [1 << 18, 4095],
    "HostConfig.CpusetCpus": ["0-1"],
    "HostConfig.BlkioWeight": [1000],
    "HostConfig.LogConfig": [
        {"Type": "syslog", "Config": {"syslog-address": "tcp://x"}}, {"Type": "local", "Config": {"path": "/x"}},
    ],
    "HostConfig.RestartPolicy": [
        {"Name": "always", "MaximumRetryCount": 1}, {"Name": "on-failure", "MaximumRetryCount": 0},
    ],
    # Ways in and out.
    "HostConfig.PortBindings": [
        {"22/tcp": [{"HostIp": "0.0.0.0", "HostPort": "22"}]}, {"8080/tcp": [{"HostIp": "", "HostPort": "8080"}]},
        *({"8080/tcp": [{"HostIp": each, "HostPort": "8080"}]} for each in ("0.0.0.0", "8.8.8.8", "127.0.0.1")),
        {"8080/tcp": [{"HostIp": "172.31.0.1", "HostPort": "22"}]},
    ],
    "HostConfig.PublishAllPorts": [True],
    "HostConfig.ExtraHosts": [["x:1.2.3.4"]],
    "HostConfig.Links": [["postgres:p"]],
    "HostConfig.DnsSearch": [["x"]],
    "HostConfig.Dns": [["x; rm"]],
    "NetworkingConfig": [
        {"EndpointsConfig": {"berth_default": {}}}, {"EndpointsConfig": {"host": {}}},
        {"EndpointsConfig": {"berth-other": {"IPAMConfig": {"IPv4Address": "10.0.0.1"}}}},
        {"EndpointsConfig": {"berth-1": {"DriverOpts": {"x": "y"}}}},
    ],
    # The container itself.
    "User": ["root", "0", "", "0:10002", "10002:0", "10002", "10002:10003", None],
    "Labels": [
        {}, None, {"berth.instance": "another"}, {"com.docker.compose.project": "berth"}, {"BERTH.INSTANCE": "berth"},
        {"berth.instance": "berth", "traefik.enable": "true"},
        {"berth.instance": "berth", "berth.rules": "berth"}, {"berth.handover": "postgres:1"},
    ],
    "Volumes": [{"/data": {}}],
    "Tty": [True],
    "OpenStdin": [True],
    "MacAddress": ["02:42:ac:11:00:02"],
    "Hostname": ["x"],
    "Shell": [["/bin/sh"]],
    "Healthcheck": [{"Test": ["CMD-SHELL", "x"]}],
    "StopSignal": ["SIGSTOP"],
    "HostConfig": [None, [], {}, "x"],
    "Image": [None, "", "a b", "x" * 300, "-x"],
    "Unknown": [1],
}  # fmt: skip
