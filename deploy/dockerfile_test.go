package deploy

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// instruction is an instruction of a Dockerfile, with continuation lines joined.
type instruction struct {
	line  int
	stage string // name of the stage, from the last FROM ... AS
	name  string
	args  string
}

func readDockerfile(t *testing.T) []instruction {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("docker", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"FROM", "ARG", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD"}
	var found []instruction
	var pending string
	stage := ""
	number, begin := 0, 0
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if pending == "" {
			begin = number
		}
		if rest, more := strings.CutSuffix(line, `\`); more {
			pending += rest
			continue
		}
		name, args, _ := strings.Cut(pending+line, " ")
		pending = ""
		if !slices.Contains(names, name) {
			t.Fatalf("Dockerfile:%d: unknown instruction %q", begin, name)
		}
		if name == "FROM" {
			words := strings.Fields(args)
			if len(words) != 3 || words[1] != "AS" {
				t.Fatalf("Dockerfile:%d: want FROM image AS stage, found %q", begin, args)
			}
			stage = words[2]
		}
		found = append(found, instruction{begin, stage, name, strings.TrimSpace(args)})
	}
	if pending != "" {
		t.Fatal("Dockerfile: ends within an instruction")
	}
	return found
}

func TestDockerfile_CopiesExistingFiles(t *testing.T) {
	stages := []string{}
	for _, in := range readDockerfile(t) {
		switch in.name {
		case "FROM":
			stages = append(stages, in.stage)
		case "COPY":
			words := strings.Fields(in.args)
			sources := words[:len(words)-1]
			if from, ok := strings.CutPrefix(words[0], "--from="); ok {
				if !slices.Contains(stages[:len(stages)-1], from) {
					t.Errorf("Dockerfile:%d: copies from stage %s, which does not come before", in.line, from)
				}
				continue
			}
			for _, source := range sources {
				if _, err := os.Stat(filepath.Join("..", source)); err != nil {
					t.Errorf("Dockerfile:%d: copies %s: %v", in.line, source, err)
				}
			}
		case "RUN":
			for _, word := range strings.Fields(in.args) {
				if strings.HasPrefix(word, "./cmd/") {
					if _, err := os.Stat(filepath.Join("..", word)); err != nil {
						t.Errorf("Dockerfile:%d: builds %s: %v", in.line, word, err)
					}
				}
			}
		case "ENTRYPOINT":
			var words []string
			if err := json.Unmarshal([]byte(in.args), &words); err != nil {
				t.Fatalf("Dockerfile:%d: ENTRYPOINT must be a JSON list: %v", in.line, err)
			}
			checkCommand(t, "Dockerfile", words)
		case "CMD":
			var words []string
			if err := json.Unmarshal([]byte(in.args), &words); err != nil {
				t.Fatalf("Dockerfile:%d: CMD must be a JSON list: %v", in.line, err)
			}
			checkCommand(t, "Dockerfile", append([]string{"corehour"}, words...))
		}
	}
}

// TestImages_Confined checks that no image runs as root, and that the configuration reads every
// environment variable that the collector's image sets.
func TestImages_Confined(t *testing.T) {
	users := make(map[string]string)
	for _, in := range readDockerfile(t) {
		switch in.name {
		case "USER":
			users[in.stage] = in.args
		case "ENV":
			if in.stage != "collector" {
				continue
			}
			for _, pair := range strings.Fields(in.args) {
				name, _, _ := strings.Cut(pair, "=")
				if !strings.Contains(collectorConfig, "${env:"+name+":-") {
					t.Errorf("Dockerfile:%d: sets %s, which config/collector.yaml does not read", in.line, name)
				}
			}
		}
	}
	for _, stage := range []string{"collector", "command"} {
		if users[stage] != "65532:65532" {
			t.Errorf("stage %s runs as %q, want 65532:65532", stage, users[stage])
		}
	}
}

// TestImages_ReachBuckets checks that both images contain the certificate authorities of object stores. The
// command caches files of a bucket, so its cache directory must be on a volume that the CronJob can write.
func TestImages_ReachBuckets(t *testing.T) {
	const authorities = "/etc/ssl/certs/ca-certificates.crt"
	copies, env := make(map[string]bool), make(map[string]string)
	for _, in := range readDockerfile(t) {
		switch in.name {
		case "COPY":
			if in.args == "--from=build "+authorities+" "+authorities {
				copies[in.stage] = true
			}
		case "ENV":
			for _, pair := range strings.Fields(in.args) {
				name, value, _ := strings.Cut(pair, "=")
				env[in.stage+" "+name] = value
			}
		}
	}
	for _, stage := range []string{"collector", "command"} {
		if !copies[stage] {
			t.Errorf("stage %s has no %s", stage, authorities)
		}
	}
	mounts := load(t).regress.Spec.JobTemplate.Spec.Template.Spec.Containers[0].VolumeMounts
	for _, name := range []string{"HOME", "XDG_CACHE_HOME"} {
		directory := env["command "+name]
		if !slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool {
			return !m.ReadOnly && strings.HasPrefix(directory+"/", m.MountPath+"/")
		}) {
			t.Errorf("stage command has %s=%q, which is no directory that the job may write", name, directory)
		}
	}
}

// TestImages_Version checks that the image builds the command with the same -ldflags as make. The build
// stage must declare the arguments VERSION and COMMIT, and `make version-args` must print exactly these.
func TestImages_Version(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, flags, _ := strings.Cut(string(data), "\nLDFLAGS := ")
	flags, _, _ = strings.Cut(flags, "\n")
	declared, built := []string{}, false
	for _, in := range readDockerfile(t) {
		switch {
		case in.name == "ARG" && in.stage == "build":
			declared = append(declared, in.args)
		case in.name == "RUN" && strings.HasSuffix(in.args, " ./cmd/corehour"):
			built = true
			want := strings.NewReplacer("$(", "${", ")", "}").Replace(flags)
			if flags == "" || !strings.Contains(in.args, "-s -w "+want+`"`) {
				t.Errorf("Dockerfile:%d: builds with %s, make with %s", in.line, in.args, flags)
			}
			if !slices.Equal(declared, []string{"VERSION", "COMMIT"}) {
				t.Errorf("Dockerfile:%d: the arguments before are %q", in.line, declared)
			}
		}
	}
	if !built {
		t.Error("the command is not built")
	}
	out, err := exec.Command("make", "-s", "-C", "..", "version-args", "VERSION=1.2", "COMMIT=abc").Output()
	if err != nil || string(out) != "--build-arg VERSION=1.2 --build-arg COMMIT=abc\n" {
		t.Errorf("make version-args: %q, %v", out, err)
	}
}

// TestGoVersions checks that the image builds with the Go version of go.mod.
func TestGoVersions(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "\ngo ")
	version, _, _ := strings.Cut(rest, "\n")
	minor := strings.Join(strings.Split(version, ".")[:2], ".")
	for _, in := range readDockerfile(t) {
		if in.name == "FROM" && in.stage == "build" && !strings.HasPrefix(in.args, "golang:"+minor+"-") {
			t.Errorf("Dockerfile:%d: builds with %s, go.mod asks for %s", in.line, in.args, version)
		}
	}
}
