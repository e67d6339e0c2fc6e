package hostclock

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// Machine describes the host of the process. Unknown fields are empty or 0.
type Machine struct {
	ID       string  // host id
	Cores    int     // cores of the host, even if the process can use fewer
	CPULimit float64 // cores that the control groups of the process let it use; 0 = all
}

// ReadMachine reads the description from the system's files: some dozens at most, and at most
// mostOfFile bytes of each.
func ReadMachine() Machine { return machineOf(os.DirFS("/")) }

func machineOf(system fs.FS) (m Machine) {
	m.ID = hostID(system)
	m.Cores = coresOf(firstLine(system, "sys/devices/system/cpu/online"))
	m.CPULimit = cpuLimit(system)
	if float64(m.Cores) > 0 && m.CPULimit >= float64(m.Cores) {
		m.CPULimit = 0
	}
	return m
}

// mostOfFile bounds the bytes read from a file.
const mostOfFile = 64 << 10

func read(system fs.FS, name string) string {
	f, err := system.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostOfFile))
	if err != nil {
		return ""
	}
	return string(text)
}

func firstLine(system fs.FS, name string) string {
	line, _, _ := strings.Cut(read(system, name), "\n")
	return strings.TrimSpace(line)
}

// hostID returns the machine id, as OpenTelemetry's conventions require outside of containers. In a
// container that file belongs to the image and is the same on every host, unless it is mounted from
// the host. There the boot id identifies the host: all containers of a kernel share it.
func hostID(system fs.FS) string {
	inContainer := isContainer(system)
	for _, name := range [...]string{"etc/machine-id", "var/lib/dbus/machine-id"} {
		if inContainer && !isMount(system, "/"+name) {
			continue
		}
		if id := firstLine(system, name); validID(id) {
			return id
		}
	}
	if id := firstLine(system, "proc/sys/kernel/random/boot_id"); inContainer && validID(id) {
		return id
	}
	return ""
}

// validID reports whether a text is 32 hex digits, with dashes or without. systemd
// writes "uninitialized" into the file of a machine that boots for the first time.
func validID(id string) bool {
	digits := strings.ReplaceAll(id, "-", "")
	return len(digits) == 32 && len(id) <= 36 && strings.Trim(digits, "0123456789abcdefABCDEF") == "" && strings.Trim(digits, "0") != ""
}

// isContainer reports whether the process runs in a container, by the marker files of Docker, Podman
// and Kubernetes, and by the file system of its root directory.
func isContainer(system fs.FS) bool {
	for _, name := range [...]string{".dockerenv", "run/.containerenv", "var/run/secrets/kubernetes.io"} {
		if _, err := fs.Stat(system, name); err == nil || errors.Is(err, fs.ErrPermission) {
			return true
		}
	}
	for line := range strings.Lines(read(system, "proc/self/mountinfo")) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == "/" {
			_, kind, _ := strings.Cut(line, " - ")
			return strings.HasPrefix(kind, "overlay ")
		}
	}
	return false
}

// isMount reports whether something is mounted at a path.
func isMount(system fs.FS, path string) bool {
	for line := range strings.Lines(read(system, "proc/self/mountinfo")) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == path {
			return true
		}
	}
	return false
}

// coresOf returns the number of processors in a list such as 0-3,5, or 0 if the list is invalid.
func coresOf(list string) (n int) {
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if err == nil && isRange {
			to, err = strconv.Atoi(last)
		}
		if err != nil || from < 0 || to < from {
			return 0
		}
		n += to - from + 1
	}
	return n
}

// cpuLimit returns the lowest limit of the process's control groups, or 0 without a limit.
func cpuLimit(system fs.FS) (least float64) {
	for line := range strings.Lines(read(system, "proc/self/cgroup")) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, ok := strings.Cut(rest, ":")
		if !ok {
			continue
		}
		var limit float64
		if controllers == "" {
			limit = leastOfGroups(system, "sys/fs/cgroup", group, limitOfV2)
		} else if hasCPU(controllers) {
			limit = leastOfGroups(system, path.Join("sys/fs/cgroup", controllers), group, limitOfV1)
			if limit == 0 {
				limit = leastOfGroups(system, "sys/fs/cgroup/cpu", group, limitOfV1)
			}
		}
		least = lesser(least, limit)
	}
	return least
}

func hasCPU(controllers string) bool {
	for c := range strings.SplitSeq(controllers, ",") {
		if c == "cpu" {
			return true
		}
	}
	return false
}

// mostGroups bounds the depth of control groups.
const mostGroups = 32

// leastOfGroups returns the lowest limit of the process's group and its parents, whose limits apply
// too. A container can see its own group as the root.
func leastOfGroups(system fs.FS, root, group string, of func(fs.FS, string) float64) (least float64) {
	at := path.Join("/", group)
	for range mostGroups {
		least = lesser(least, of(system, path.Join(root, at)))
		if at == "/" {
			break
		}
		at = path.Dir(at)
	}
	return least
}

func limitOfV2(system fs.FS, group string) float64 {
	quota, period, _ := strings.Cut(firstLine(system, group+"/cpu.max"), " ")
	return share(quota, period)
}

func limitOfV1(system fs.FS, group string) float64 {
	return share(firstLine(system, group+"/cpu.cfs_quota_us"), firstLine(system, group+"/cpu.cfs_period_us"))
}

// share returns quota divided by period, or 0 without a quota: "max", or -1 in version 1.
func share(quota, period string) float64 {
	q, err := strconv.ParseInt(quota, 10, 64)
	if err != nil || q <= 0 {
		return 0
	}
	p, err := strconv.ParseInt(period, 10, 64)
	if err != nil || p <= 0 {
		return 0
	}
	return float64(q) / float64(p)
}

// lesser returns the lower of two limits, where 0 means no limit.
func lesser(a, b float64) float64 {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
