//go:build linux

// Command benchwitness measures whether fixed reference work (a witness) explains
// how busy neighbours change the CPU time and wall time per call of other code.
//
//	benchwitness --out ../../build/bench --rounds 30 --episode 1s
//
// One pinned thread calls eight methods in random order. Ten times per episode it
// also times the witness: dependent arithmetic and pointer chases of three sizes.
// Each round runs one episode of every scene, in random order. The loading of each
// method on the witness is learned on half of the rounds and judged on the other half.
// The program measures; it does not decide (docs/adr/0029-witness.md does).
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/corehour/corehour/test/figures"
)

// leastRounds are the fewest from which loadings are learned.
const leastRounds = 8

func main() {
	out := flag.String("out", "../../build/bench", "directory for the figures")
	rounds := flag.Int("rounds", 30, "rounds, each with one episode of every scene")
	limit := flag.Duration("limit", 210*time.Second, "time after which no further round begins, but for the first 8")
	length := flag.Duration("episode", time.Second, "length of an episode")
	seed := flag.Uint64("seed", 1, "seed of the order of scenes, methods and readings")
	raw := flag.String("episodes", "", "file for the episodes as JSON, for other analyses")
	scene := flag.String("neighbour", "", "run as the neighbour of this scene until standard input ends (internal)")
	duty := flag.Float64("duty", 1, "share of the time in which the neighbour is busy (internal)")
	flag.Parse()
	var err error
	if *scene != "" {
		err = runNeighbour(*scene, *duty)
	} else {
		err = runBenchmark(*out, *raw, *rounds, *limit, *length, *seed)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchwitness:", err)
		os.Exit(1)
	}
}

func runBenchmark(out, raw string, rounds int, limit, length time.Duration, seed uint64) error {
	if rounds < leastRounds || length < 100*time.Millisecond {
		return fmt.Errorf("--rounds must be at least %d and --episode at least 100ms, found %d and %v", leastRounds, rounds, length)
	}
	if runtime.NumCPU() < 2 {
		return errors.New("the scenes need 2 cores, found 1")
	}
	runtime.LockOSThread()
	if err := pin(measuredCore); err != nil {
		return fmt.Errorf("pin the measured thread: %w", err)
	}
	debug.SetGCPercent(-1) // garbage is collected between episodes: its cost depends on how many calls fit into one
	r := rand.New(rand.NewPCG(seed, 2))
	m := meter{methods: newMethods(), witness: newWitness(r), random: r, length: length}
	for range 2 { // warm up
		if _, err := m.episode("idle"); err != nil {
			return err
		}
	}
	var episodes []episode
	begin := time.Now()
	for round := range rounds {
		if round >= leastRounds && time.Since(begin) > limit {
			break
		}
		for _, i := range r.Perm(len(scenes)) {
			e, err := m.episode(scenes[i])
			if err != nil {
				return fmt.Errorf("round %d, scene %s: %w", round+1, scenes[i], err)
			}
			e.Round = round
			episodes = append(episodes, e)
		}
		load, _ := os.ReadFile("/proc/loadavg")
		fmt.Fprintf(os.Stderr, "round %d of %d, load average %.14s\n", round+1, rounds, load)
	}
	data, err := json.Marshal(episodes)
	if err == nil && raw != "" {
		err = os.WriteFile(raw, data, 0o644)
	}
	report := figures.New("witness")
	for _, together := range []int{1, 3} {
		printTables(os.Stdout, report, episodes, together)
	}
	return errors.Join(err, report.Print(os.Stdout), report.Write(out))
}

// cost is the mean of a method's calls, or one reading of the witness, in ns.
type cost struct{ CPU, Wall float64 }

// episode is what was measured in one scene.
type episode struct {
	Round    int
	Scene    string
	Duty     float64           // of the neighbour
	Methods  map[string][]cost // by method: the mean of every other call, and of the rest
	Readings map[string][]cost // by component of the witness
}

const readings = 10

// meter measures episodes on the thread that it was made on.
type meter struct {
	methods, witness []work
	random           *rand.Rand
	length           time.Duration
}

func (m meter) episode(scene string) (e episode, err error) {
	runtime.GC()
	e = episode{Scene: scene, Duty: 0.3 + 0.7*m.random.Float64(), Methods: map[string][]cost{}, Readings: map[string][]cost{}}
	if scene != "idle" {
		stop, startErr := startNeighbour(scene, e.Duty)
		if startErr != nil {
			return e, startErr
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	sums, passes := [2][]cost{make([]cost, len(m.methods)), make([]cost, len(m.methods))}, [2]float64{}
	half := 0
	begin, taken := time.Now(), 0
	next := m.jitter(taken)
	for time.Since(begin) < m.length || taken < readings || passes[1] == 0 {
		for _, i := range m.random.Perm(len(m.methods)) {
			c := timed(m.methods[i])
			sums[half][i].CPU += c.CPU
			sums[half][i].Wall += c.Wall
			if taken < readings && time.Since(begin) >= next {
				for _, w := range m.witness {
					e.Readings[w.name] = append(e.Readings[w.name], timed(w))
				}
				taken++
				next = m.jitter(taken)
			}
		}
		passes[half]++
		half = 1 - half
	}
	for i, method := range m.methods {
		for half := range 2 {
			e.Methods[method.name] = append(e.Methods[method.name], cost{sums[half][i].CPU / passes[half], sums[half][i].Wall / passes[half]})
		}
	}
	return e, nil
}

// jitter returns a random time in the n-th tenth of the episode.
func (m meter) jitter(n int) time.Duration {
	return time.Duration((float64(n) + m.random.Float64()) / readings * float64(m.length))
}

func timed(w work) cost {
	if w.prepare != nil {
		w.prepare()
	}
	wall, cpu := time.Now(), threadCPU()
	w.call()
	return cost{CPU: float64(threadCPU() - cpu), Wall: float64(time.Since(wall))}
}

// startNeighbour starts this program as a neighbour, pinned with all its threads, and
// waits until it is busy.
func startNeighbour(scene string, duty float64) (stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.Command(self, "--neighbour", scene, "--duty", fmt.Sprint(duty))
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	core := 0
	if slices.Contains(onMeasuredCore, scene) {
		core = measuredCore
	}
	if err := errors.Join(pin(core), command.Start(), pin(measuredCore)); err != nil { // it inherits the core
		return nil, err
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		return nil, fmt.Errorf("await the neighbour: %w", errors.Join(err, in.Close(), command.Wait()))
	}
	time.Sleep(30 * time.Millisecond)
	return func() error { return errors.Join(in.Close(), command.Wait()) }, nil
}
