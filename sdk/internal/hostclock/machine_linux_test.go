package hostclock

import (
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	machineID = "fdbf79e8af94cb7f9e8df36789187052"
	bootID    = "9f0e3b8a-6c1d-4d2e-8a5b-0123456789ab"
	rootDisk  = "25 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
	rootImage = "560 478 0:50 / / rw,relatime - overlay overlay rw\n"
)

func TestMachine(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  Machine
	}{
		{"nothing to read", nil, Machine{}},
		{"host", map[string]string{"etc/machine-id": machineID + "\n", "proc/sys/kernel/random/boot_id": bootID, "proc/self/mountinfo": rootDisk,
			"sys/devices/system/cpu/online": "0-7\n", "proc/self/cgroup": "0::/user.slice\n", "sys/fs/cgroup/user.slice/cpu.max": "max 100000\n"}, Machine{ID: machineID, Cores: 8}},
		{"older host", map[string]string{"var/lib/dbus/machine-id": machineID, "sys/devices/system/cpu/online": "0-1,4,6-7"}, Machine{ID: machineID, Cores: 5}},
		{"first boot", map[string]string{"etc/machine-id": "uninitialized\n", "proc/sys/kernel/random/boot_id": bootID}, Machine{}},
		{"container", map[string]string{".dockerenv": "", "etc/machine-id": machineID, "proc/sys/kernel/random/boot_id": bootID + "\n",
			"sys/devices/system/cpu/online": "0-15", "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, Machine{ID: bootID, Cores: 16, CPULimit: 1.5}},
		{"container by its root", map[string]string{"proc/self/mountinfo": rootImage, "etc/machine-id": machineID, "proc/sys/kernel/random/boot_id": bootID}, Machine{ID: bootID}},
		{"container with the host's id", map[string]string{"proc/self/mountinfo": rootImage + "561 560 8:1 /etc/machine-id /etc/machine-id ro - ext4 /dev/sda1 ro\n", "etc/machine-id": machineID,
			"proc/sys/kernel/random/boot_id": bootID}, Machine{ID: machineID}},
		{"group above", map[string]string{"sys/devices/system/cpu/online": "0-7", "proc/self/cgroup": "0::/kubepods/pod1/c1\n", "sys/fs/cgroup/kubepods/pod1/cpu.max": "50000 100000",
			"sys/fs/cgroup/kubepods/pod1/c1/cpu.max": "200000 100000"}, Machine{Cores: 8, CPULimit: 0.5}},
		{"version 1", map[string]string{"proc/self/cgroup": "7:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "250000\n",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n"}, Machine{CPULimit: 2.5}},
		{"version 1 without a limit", map[string]string{"proc/self/cgroup": "4:cpu:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, Machine{}},
		{"limit above the host", map[string]string{"sys/devices/system/cpu/online": "0-1", "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "400000 100000"}, Machine{Cores: 2}},
		{"no numbers", map[string]string{"sys/devices/system/cpu/online": "3-1", "proc/self/cgroup": "0::/\n0:\n", "sys/fs/cgroup/cpu.max": "lots 0", "etc/machine-id": strings.Repeat("0", 32)}, Machine{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			system := fstest.MapFS{}
			for name, text := range c.files {
				system[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := machineOf(system); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestMachine_ThisHost(t *testing.T) {
	m := ReadMachine()
	t.Logf("%+v", m)
	if m.Cores != 0 && m.Cores < runtime.NumCPU() {
		t.Errorf("the host has %d cores, of which the process may use %d", m.Cores, runtime.NumCPU())
	}
}
