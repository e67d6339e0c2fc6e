package threads

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// ofSystem returns the kernel's limits for a process of this user, from the system's files. A missing
// file, or one of unknown form, limits nothing.
func ofSystem(system fs.FS, user int) (limits []Limit) {
	for _, line := range lines(system, "proc/self/cgroup") {
		_, rest, _ := strings.Cut(line, ":")
		controllers, group, ok := strings.Cut(rest, ":")
		switch {
		case !ok:
		case controllers == "":
			limits = append(limits, ofGroups(system, "sys/fs/cgroup", group)...)
		case controllers == "pids":
			limits = append(limits, ofGroups(system, "sys/fs/cgroup/pids", group)...)
		}
	}
	if user == 0 { // the kernel does not apply it to root
		return limits
	}
	for _, line := range lines(system, "proc/self/limits") {
		if rest, ok := strings.CutPrefix(line, "Max processes"); ok {
			limits = appendLimit(limits, firstField(rest), "RLIMIT_NPROC")
		}
	}
	return limits
}

// ofGroups returns the limits of a control group and its parents, which all apply. In a container the
// visible path can differ from the name of the group, and the group can be the visible root.
func ofGroups(system fs.FS, root, group string) (limits []Limit) {
	for at := path.Join("/", group); ; at = path.Dir(at) {
		name := path.Join(root, at, "pids.max")
		if text, err := fs.ReadFile(system, name); err == nil {
			limits = appendLimit(limits, strings.TrimSpace(string(text)), "/"+name)
		}
		if at == "/" {
			return limits
		}
	}
}

// appendLimit appends a limit, unless it is "max" or "unlimited".
func appendLimit(limits []Limit, number, by string) []Limit {
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 {
		return limits
	}
	return append(limits, Limit{Threads: n, By: by})
}

func lines(system fs.FS, name string) []string {
	text, err := fs.ReadFile(system, name)
	if err != nil {
		return nil
	}
	return strings.Split(string(text), "\n")
}

func firstField(s string) string {
	if fields := strings.Fields(s); len(fields) > 0 {
		return fields[0]
	}
	return ""
}
