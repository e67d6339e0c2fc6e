package deploy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unit is a systemd unit: the values in order, by section and key.
type unit map[string]map[string][]string

// known lists the keys that these units use, by section. systemd ignores a misspelled key, so the tests
// reject it.
var known = map[string][]string{
	"Unit": {"Description", "Documentation", "After", "Wants", "StartLimitIntervalSec"},
	"Service": {"Type", "User", "Group", "Environment", "EnvironmentFile", "ExecStartPre", "ExecStart", "Restart", "RestartSec",
		"TimeoutStopSec", "TimeoutStartSec", "SuccessExitStatus", "StateDirectory", "StateDirectoryMode", "CacheDirectory", "CacheDirectoryMode", "WorkingDirectory", "UMask",
		"MemoryMax", "TasksMax", "LimitNOFILE", "Nice", "ReadOnlyPaths", "CapabilityBoundingSet", "AmbientCapabilities",
		"NoNewPrivileges", "ProtectSystem", "ProtectHome", "PrivateTmp", "PrivateDevices", "PrivateNetwork", "PrivateUsers",
		"ProtectClock", "ProtectControlGroups", "ProtectHostname", "ProtectKernelLogs", "ProtectKernelModules",
		"ProtectKernelTunables", "ProtectProc", "RestrictAddressFamilies", "RestrictNamespaces", "RestrictRealtime",
		"RestrictSUIDSGID", "RemoveIPC", "LockPersonality", "MemoryDenyWriteExecute", "SystemCallArchitectures",
		"SystemCallFilter", "SystemCallErrorNumber"},
	"Timer":   {"OnBootSec", "OnUnitInactiveSec", "RandomizedDelaySec"},
	"Install": {"WantedBy"},
}

func readUnit(t *testing.T, name string) unit {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("systemd", name))
	if err != nil {
		t.Fatal(err)
	}
	u := make(unit)
	section := ""
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			section = line[1 : len(line)-1]
			if known[section] == nil || u[section] != nil {
				t.Fatalf("%s:%d: section %q is unknown or comes twice", name, number, section)
			}
			u[section] = make(map[string][]string)
		default:
			key, value, ok := strings.Cut(line, "=")
			if !ok || section == "" {
				t.Fatalf("%s:%d: want key=value in a section, found %q", name, number, line)
			}
			if !slices.Contains(known[section], key) {
				t.Errorf("%s:%d: unknown key %s in [%s]", name, number, key, section)
			}
			u[section][key] = append(u[section][key], value)
		}
	}
	return u
}

func units(t *testing.T) map[string]unit {
	t.Helper()
	found := make(map[string]unit)
	for _, pattern := range []string{"*.service", "*.timer"} {
		paths, err := filepath.Glob(filepath.Join("systemd", pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for _, path := range paths {
			found[filepath.Base(path)] = readUnit(t, filepath.Base(path))
		}
	}
	return found
}

func TestUnits_Confined(t *testing.T) {
	want := map[string]string{
		"User": "corehour", "Group": "corehour", "NoNewPrivileges": "yes", "ProtectSystem": "strict", "ProtectHome": "yes",
		"PrivateTmp": "yes", "PrivateDevices": "yes", "CapabilityBoundingSet": "", "AmbientCapabilities": "",
		"MemoryDenyWriteExecute": "yes", "RestrictSUIDSGID": "yes", "SystemCallArchitectures": "native",
	}
	for name, u := range units(t) {
		if !strings.HasSuffix(name, ".service") {
			continue
		}
		for key, value := range want {
			if got := u["Service"][key]; len(got) != 1 || got[0] != value {
				t.Errorf("%s: %s is %q, want %q", name, key, got, value)
			}
		}
		for _, key := range []string{"ExecStart", "MemoryMax", "TasksMax", "SystemCallFilter"} {
			if len(u["Service"][key]) == 0 {
				t.Errorf("%s: %s is missing", name, key)
			}
		}
	}
	sysusers, err := os.ReadFile(filepath.Join("systemd", "corehour.sysusers"))
	if err != nil || !strings.Contains(string(sysusers), "\nu corehour ") {
		t.Errorf("corehour.sysusers does not make the user corehour: %v", err)
	}
}

// TestUnits_Commands checks that every unit runs a command of this repository, with a configuration
// file that exists.
func TestUnits_Commands(t *testing.T) {
	for name, u := range units(t) {
		for _, key := range []string{"ExecStartPre", "ExecStart"} {
			for _, line := range u["Service"][key] {
				checkCommand(t, name+": "+key, strings.Fields(line))
			}
		}
	}
}

func TestUnits_TimerStartsService(t *testing.T) {
	all := units(t)
	for name, u := range all {
		service := strings.TrimSuffix(name, ".timer") + ".service"
		if !strings.HasSuffix(name, ".timer") {
			continue
		}
		if all[service] == nil {
			t.Errorf("%s has no %s", name, service)
		}
		if len(u["Timer"]["OnUnitInactiveSec"]) == 0 || u["Install"]["WantedBy"][0] != "timers.target" {
			t.Errorf("%s does not repeat or is not wanted by timers.target", name)
		}
	}
}
