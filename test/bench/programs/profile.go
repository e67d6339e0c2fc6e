package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/pprof/profile"

	"github.com/corehour/corehour/test/bench/results"
)

// served is a program under load, profiled by the runtime and by corehour at the same time.
//
// The runtime's profile takes 100 samples per second of CPU; corehour times one call in a hundred. A sample
// belongs to the innermost function with a probe, as the self CPU time of a method in corehour does. CPU time of the SDK
// belongs to no method.
type served struct {
	corehour, dir string
	length        time.Duration
	process       float64 // CPU time in seconds during the profile
}

// A caddy that compresses, renders templates, serves files, matches, rewrites and passes requests on to itself.
const caddyfile = `{
	admin %[1]s
	auto_https off
	grace_period 1s
}
http://%[2]s {
	root * site
	log {
		output discard
		format json
	}
	encode gzip
	map {path} {kind} {
		~^/api/.* api
		default   page
	}
	header X-Kind {kind}
	header /pages/* Cache-Control "max-age=60"
	@short path_regexp short ^/s/([0-9]+)$
	rewrite @short /pages/{re.short.1}.html
	@api {
		path /api/*
		not header X-Blocked *
	}
	handle @api {
		reverse_proxy %[3]s
	}
	handle {
		templates
		file_server
	}
}
http://%[3]s {
	vars greeting "hello"
	header Content-Type text/plain
	respond "{vars.greeting} {http.request.uri} {http.request.uuid} {http.request.header.Accept-Encoding}"
}
`

const page = `<html><body>{{placeholder "http.request.uri"}} {{.Req.Method}}</body></html>`

// Requests cost about the same. If some cost many times more, one call in a hundred would be a poor sample.
var requests = []string{"/pages/1.html", "/s/1", "/api/orders/7?q=1", "/text.txt", "/none", "/api/orders/8?q=2"}

func (s *served) compare(to *[]results.Figure) error {
	if err := s.build(); err != nil {
		return err
	}
	var addresses []any
	for range 3 {
		l, err := net.Listen("tcp", "localhost:0")
		if err != nil {
			return err
		}
		addresses = append(addresses, l.Addr().String())
		l.Close()
	}
	if err := os.WriteFile(filepath.Join(s.dir, "Caddyfile"), fmt.Appendf(nil, caddyfile, addresses...), 0o600); err != nil {
		return err
	}
	profiled, err := s.serve(addresses[0].(string), addresses[1].(string))
	if err != nil {
		return err
	}
	estimated, sum, err := s.estimates()
	if err != nil {
		return err
	}
	probed, err := s.probed()
	if err != nil {
		return err
	}
	sampled, err := fold(profiled, s.process, probed)
	if err != nil {
		return err
	}
	*to = append(*to, agreement(estimated, sum, sampled)...)
	return nil
}

func (s *served) build() error {
	for name, text := range map[string]string{
		"pages/1.html": page, "text.txt": strings.Repeat("corehour counts calls. ", 40),
	} {
		path := filepath.Join(s.dir, "site", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return err
		}
	}
	cmd := exec.Command(s.corehour, "go", "--quiet", "build", "-o", "caddy.probed", "./cmd/caddy")
	cmd.Dir, cmd.Stderr = s.dir, os.Stderr
	return cmd.Run()
}

// serve sends requests and returns the profile of that time.
func (s *served) serve(admin, site string) (*profile.Profile, error) {
	cmd := exec.Command(s.corehour, "exec", "--rate", "0.01", "--warehouse", "warehouse", "--output", "table.txt", "--",
		"./caddy.probed", "run", "--config", "Caddyfile", "--adapter", "caddyfile")
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = s.dir, &stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p, err := s.load(admin, site)
	err = errors.Join(err, cmd.Process.Signal(syscall.SIGTERM), cmd.Wait())
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, stderr.Bytes())
	}
	return p, nil
}

func (s *served) load(admin, site string) (*profile.Profile, error) {
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		r, err := http.Get("http://" + site + "/none")
		if err == nil {
			r.Body.Close()
			break
		}
		if time.Since(begin) > 30*time.Second {
			return nil, err
		}
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	var clients sync.WaitGroup
	failed := make([]error, 2)
	for i := range failed {
		clients.Go(func() {
			failed[i] = request(ctx, site)
		})
	}
	before, err := s.processCPU()
	if err != nil {
		return nil, err
	}
	time.AfterFunc(s.length, end) // stops the load; the profile ends after the last request
	r, err := http.Get(fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", admin, int(s.length.Seconds())+2))
	end()
	clients.Wait()
	if err = errors.Join(append(failed, err)...); err != nil {
		return nil, err
	}
	defer r.Body.Close()
	p, err := profile.Parse(r.Body)
	if err != nil {
		return nil, err
	}
	after, err := s.processCPU()
	if err != nil {
		return nil, err
	}
	s.process = after - before
	return p, nil
}

// request requests the pages in turn until the context ends.
func request(ctx context.Context, site string) error {
	time.Sleep(500 * time.Millisecond) // wait until the profile has started
	for n := 0; ctx.Err() == nil; n++ {
		r, err := http.Get("http://" + site + requests[n%len(requests)])
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, r.Body)
		if err = errors.Join(err, r.Body.Close()); err != nil {
			return err
		}
	}
	return nil
}

// processCPU returns the CPU time of the program since its start, in seconds.
func (s *served) processCPU() (float64, error) {
	all, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		return 0, err
	}
	for _, exe := range all {
		if path, _ := os.Readlink(exe); path != filepath.Join(s.dir, "caddy.probed") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(exe), "stat"))
		if err != nil {
			return 0, err
		}
		const user, system, ticks = 11, 12, 100 // index of the fields after the name, and ticks per second: proc(5)
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+2:]))
		u, err1 := strconv.Atoi(fields[user])
		k, err2 := strconv.Atoi(fields[system])
		return float64(u+k) / ticks, errors.Join(err1, err2)
	}
	return 0, errors.New("the program does not run")
}

// cpuTime is a CPU time in seconds with its standard error.
type cpuTime struct{ cpu, se float64 }

// quantile is half the width of a 95% interval in standard errors.
const quantile = 1.96

// estimates returns corehour's estimate for each method, and the total in seconds. The total includes methods
// without a figure of their own: their CPU time can come from their probes.
func (s *served) estimates() (all map[string]cpuTime, sum float64, err error) {
	cmd := exec.Command(s.corehour, "cost", "--warehouse", "warehouse", "--json")
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = s.dir, &stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, 0, fmt.Errorf("corehour cost: %w: %s", err, stderr.Bytes())
	}
	var table struct {
		Services []struct {
			Hours float64 `json:"attributed_core_hours"`
		}
		Methods []struct {
			Class, Method string
			Calls         float64     `json:"calls"`
			Hours         *float64    `json:"self_core_hours"`
			SE            float64     `json:"self_core_hours_se"`
			Interval      *[2]float64 `json:"self_core_hours_interval"`
			ResolutionNS  float64     `json:"resolution_ns"`
		}
	}
	if err := json.Unmarshal(text, &table); err != nil {
		return nil, 0, err
	}
	for _, s := range table.Services {
		sum += s.Hours * 3600
	}
	all = map[string]cpuTime{}
	for _, m := range table.Methods {
		name := m.Class + "." + m.Method
		e := cpuTime{se: m.Calls * m.ResolutionNS / 1e9 / quantile}
		if m.Hours != nil { // nil if the figure is not above the uncertainty of the probe cost
			if m.Interval != nil {
				m.SE = (m.Interval[1] - m.Interval[0]) / 2 / quantile
			}
			e = cpuTime{*m.Hours * 3600, math.Hypot(e.se, m.SE*3600)}
		}
		all[name] = e
	}
	return all, sum, nil
}

// probed returns the names of the functions with a probe.
func (s *served) probed() (map[string]bool, error) {
	cmd := exec.Command(s.corehour, "probes", "caddy.probed")
	cmd.Dir, cmd.Stderr = s.dir, os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		names[name] = true
	}
	return names, nil
}

// fold assigns each sample to the innermost function with a probe. It scales the samples to the CPU time of the process,
// because the kernel records only one sample if the timer fires twice before it is handled.
func fold(p *profile.Profile, process float64, probed map[string]bool) (map[string]cpuTime, error) {
	at := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "samples" })
	if at < 0 || p.Period <= 0 {
		return nil, errors.New("the profile holds no samples")
	}
	total, counts := int64(0), map[string]int64{}
	for _, sample := range p.Sample {
		total += sample.Value[at]
		if method := methodOf(sample, probed); method != "" {
			counts[method] += sample.Value[at]
		}
	}
	second := process / float64(total) // seconds per sample
	fmt.Fprintf(os.Stderr, "the profile holds %.1f%% of the CPU time of the process\n", float64(total)*float64(p.Period)/1e9/process*100)
	all := map[string]cpuTime{}
	for name, n := range counts {
		all[strings.NewReplacer("(*", "", ")", "").Replace(name)] = cpuTime{float64(n) * second, math.Sqrt(float64(n)) * second}
	}
	return all, nil
}

func methodOf(s *profile.Sample, probed map[string]bool) string {
	for _, l := range s.Location {
		for _, line := range l.Line {
			name := line.Function.Name
			if probed[name] {
				return name
			}
			if strings.Contains(name, "/_corehour.") || strings.Contains(name, "/_corehour/") {
				return ""
			}
		}
	}
	return ""
}

const top = 30

// agreement compares the estimates of the methods with the most samples in the profile.
func agreement(estimated map[string]cpuTime, sum float64, sampled map[string]cpuTime) []results.Figure {
	var names []string
	profiled := 0.0
	for name, m := range sampled {
		names = append(names, name)
		profiled += m.cpu
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(sampled[b].cpu, sampled[a].cpu) })
	within, worst, of := 0, 0.0, ""
	for _, name := range names[:min(top, len(names))] {
		e, s := estimated[name], sampled[name]
		z := (e.cpu - s.cpu) / math.Hypot(e.se, s.se)
		fmt.Fprintf(os.Stderr, "%+5.1f sigma: estimated %7.3f s ± %.3f, profiled %7.3f s ± %.3f: %s\n", z, e.cpu, e.se, s.cpu, s.se, name)
		if math.Abs(z) < quantile {
			within++
		}
		if math.Abs(z) > worst {
			worst, of = math.Abs(z), name
		}
	}
	fmt.Fprintf(os.Stderr, "sum of all methods: estimated %.3f s, profiled %.3f s: %+.1f%%\n", sum, profiled, 100*(sum/profiled-1))
	return []results.Figure{
		results.Higher("caddy under load: of the 30 largest methods, within 95% of the profile", float64(within), "methods", 27),
		results.Lower("caddy under load: the largest difference, that of "+of[strings.LastIndexByte(of, '/')+1:], worst, "sigma", 5),
		results.Lower("caddy under load: sum of all methods, difference to the profile", 100*math.Abs(sum/profiled-1), "%", 3),
		results.Higher("caddy under load: CPU profiled in methods", profiled, "s"),
	}
}
