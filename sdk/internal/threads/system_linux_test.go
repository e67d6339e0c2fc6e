package threads

import (
	"fmt"
	"os"
	"testing"
	"testing/fstest"
)

const limits = `Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max processes             %s                 63432                processes 
Max open files            1024                 524288               files     
`

func TestSystemLimits_Files(t *testing.T) {
	for _, c := range []struct {
		what  string
		files map[string]string
		user  int
		want  string
	}{
		{what: "nothing to be read", want: "[]"},
		{
			what: "version 2, and the groups around it",
			files: map[string]string{
				"proc/self/cgroup":                                 "0::/system.slice/shop.service\n",
				"sys/fs/cgroup/system.slice/pids.max":              "900\n",
				"sys/fs/cgroup/pids.max":                           "max\n",
				"sys/fs/cgroup/system.slice/shop.service/pids.max": "250\n",
				"sys/fs/cgroup/system.slice/other/pids.max":        "7\n",
			},
			want: "[{250 /sys/fs/cgroup/system.slice/shop.service/pids.max} {900 /sys/fs/cgroup/system.slice/pids.max}]",
		},
		{
			what:  "version 2, at the root of a container",
			files: map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/pids.max": "100\n"},
			want:  "[{100 /sys/fs/cgroup/pids.max}]",
		},
		{
			what: "version 1, under a name that is not seen",
			files: map[string]string{
				"proc/self/cgroup":                        "12:memory:/docker/1f\n9:pids:/docker/1f\n1:name=systemd:/docker/1f\n0::/docker/1f\n",
				"sys/fs/cgroup/pids/pids.max":             "64\n",
				"sys/fs/cgroup/memory/docker/1f/pids.max": "1\n",
			},
			want: "[{64 /sys/fs/cgroup/pids/pids.max}]",
		},
		{what: "a user's", files: map[string]string{"proc/self/limits": fmt.Sprintf(limits, "4096")}, user: 1000, want: "[{4096 RLIMIT_NPROC}]"},
		{what: "a user's without limit", files: map[string]string{"proc/self/limits": fmt.Sprintf(limits, "unlimited")}, user: 1000, want: "[]"},
		{what: "root's", files: map[string]string{"proc/self/limits": fmt.Sprintf(limits, "4096")}, want: "[]"},
		{
			what:  "nonsense",
			files: map[string]string{"proc/self/cgroup": "\n:\n0::../../..\n9:pids", "sys/fs/cgroup/pids.max": "-1", "proc/self/limits": "Max processes"},
			user:  1, want: "[]",
		},
	} {
		system := fstest.MapFS{}
		for name, text := range c.files {
			system[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := fmt.Sprint(ofSystem(system, c.user)); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	if got := Least(); got.Threads < 1 || got.By == "" {
		t.Errorf("here: %+v, by user %d", got, os.Getuid())
	}
}
