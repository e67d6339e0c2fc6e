package harness

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
)

// given are the ports that FreeAddresses has returned.
var given = struct {
	sync.Mutex
	ports map[int]bool
}{ports: map[int]bool{}}

const (
	lowestPort = 15000
	// portTries is how many ports are tried until one is free.
	portTries = 1000
)

// FreeAddresses returns loopback addresses that nothing listens on, none of them
// twice in a process. Their ports are below the kernel's ephemeral ports, so no other
// program gets one before it is listened on, or while a collector is
// down that comes back to it.
func FreeAddresses(n int) ([]string, error) {
	given.Lock()
	defer given.Unlock()
	end := firstEphemeralPort()
	var addresses []string
	for range portTries {
		if len(addresses) == n {
			return addresses, nil
		}
		port := lowestPort + rand.IntN(end-lowestPort)
		if given.ports[port] {
			continue
		}
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue // somebody has it
		}
		given.ports[port] = true
		addresses = append(addresses, listener.Addr().String())
		if err := listener.Close(); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("no free port below those that the kernel gives away")
}

// firstEphemeralPort returns the first of those that the kernel gives away, or where it
// does not say, the first that is so by convention.
func firstEphemeralPort() int {
	const byConvention, least = 32768, lowestPort + 1000
	data, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return byConvention
	}
	var first int
	if _, err := fmt.Sscan(string(data), &first); err != nil || first < least {
		return byConvention // a machine of few free ports: some of ours are the kernel's, too
	}
	return first
}
