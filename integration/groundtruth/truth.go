// Package groundtruth holds a workload's own counts and times. The counters are in a memory-mapped
// file, so they are right up to the last call even if the process is killed, and can be read while
// it runs.
//
// It knows nothing of corehour.
package groundtruth

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Method holds the counters of one method. A probe's wall time is between WallNS and OuterWallNS: a
// thread can lose its processor between two readings of the clock. Its CPU time is between CPUNS
// and OuterCPUNS as well: where the whole machine loses a processor to another, the thread's clock
// can continue.
type Method struct {
	Calls       int64 `json:"calls"`
	WallNS      int64 `json:"wall_ns"`       // read inside the probe
	OuterWallNS int64 `json:"outer_wall_ns"` // read around it
	CPUNS       int64 `json:"cpu_ns"`        // read inside
	OuterCPUNS  int64 `json:"outer_cpu_ns"`  // read around it
}

// entry is a Method in the file, on its own cache line.
type entry struct {
	calls, wall, outer, cpu, outerCPU atomic.Int64
	_                                 [64 - 5*8]byte
}

const headSize = 64 // the number of methods, then nothing

// Counters is the mapped file.
type Counters struct {
	memory  []byte
	entries []entry
}

// Create creates the file for a number of methods.
func Create(path string, methods int) (*Counters, error) {
	size := headSize + methods*int(unsafe.Sizeof(entry{}))
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := file.Truncate(int64(size)); err != nil {
		return nil, err
	}
	var head [8]byte
	binary.LittleEndian.PutUint64(head[:], uint64(methods))
	if _, err := file.WriteAt(head[:], 0); err != nil {
		return nil, err
	}
	return mapped(file, size, syscall.PROT_READ|syscall.PROT_WRITE)
}

// Open opens the file of a process that runs or has run. It returns an error, and can be retried,
// until the process has created the file.
func Open(path string) (*Counters, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var head [8]byte
	if _, err := file.ReadAt(head[:], 0); err != nil {
		return nil, err
	}
	methods := binary.LittleEndian.Uint64(head[:])
	size := headSize + int(methods)*int(unsafe.Sizeof(entry{}))
	if info, err := file.Stat(); err != nil || methods == 0 || info.Size() != int64(size) {
		return nil, errors.Join(err, fmt.Errorf("%s: %d methods do not make its size", path, methods))
	}
	return mapped(file, size, syscall.PROT_READ)
}

func mapped(file *os.File, size, protection int) (*Counters, error) {
	memory, err := syscall.Mmap(int(file.Fd()), 0, size, protection, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", file.Name(), err)
	}
	first := (*entry)(unsafe.Pointer(&memory[headSize]))
	return &Counters{memory, unsafe.Slice(first, (size-headSize)/int(unsafe.Sizeof(entry{})))}, nil
}

// Close unmaps the file.
func (c *Counters) Close() error { return syscall.Munmap(c.memory) }

// Call counts a call when it begins.
func (c *Counters) Call(method int) { c.entries[method].calls.Add(1) }

// Took adds the times of an ended call. It does not count the call.
func (c *Counters) Took(method int, took Method) {
	e := &c.entries[method]
	e.wall.Add(took.WallNS)
	e.outer.Add(took.OuterWallNS)
	e.cpu.Add(took.CPUNS)
	e.outerCPU.Add(took.OuterCPUNS)
}

// Methods returns the current counters.
func (c *Counters) Methods() []Method {
	methods := make([]Method, len(c.entries))
	for i := range c.entries {
		e := &c.entries[i]
		methods[i] = Method{e.calls.Load(), e.wall.Load(), e.outer.Load(), e.cpu.Load(), e.outerCPU.Load()}
	}
	return methods
}

// Calls returns the current number of calls of all methods.
func (c *Counters) Calls() int64 {
	total := int64(0)
	for i := range c.entries {
		total += c.entries[i].calls.Load()
	}
	return total
}

// ProcessRecord is a process's own record, written when it ends.
type ProcessRecord struct {
	Service  string            `json:"service"`
	Version  string            `json:"version"`
	Instance string            `json:"instance"`
	Methods  map[string]Method `json:"methods"` // by class.method, as stored
	Shutdown string            `json:"shutdown_error,omitempty"`
	// StoppingNS is the duration of the SDK's shutdown.
	StoppingNS int64 `json:"stopping_ns"`
	// Goroutines is the number left after the SDK's shutdown.
	Goroutines int `json:"goroutines"`
	// SDK holds the SDK's own counters right before its shutdown.
	SDK map[string]int64 `json:"sdk"`
}

// Write writes the record atomically: a reader finds all of it or no file.
func (r ProcessRecord) Write(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".tmp", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// Read reads a record.
func Read(path string) (ProcessRecord, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return ProcessRecord{}, err
	}
	var r ProcessRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return ProcessRecord{}, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}
