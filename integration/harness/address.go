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
	// portTries is the maximum number of ports that are tried.
	portTries = 1000
)

// FreeAddresses returns n loopback addresses that nothing listens on, each at most once per
// process. Their ports are below the kernel's ephemeral ports, so no other program gets one before
// it is used or while a restarted collector is down.
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
			continue // in use
		}
		given.ports[port] = true
		addresses = append(addresses, listener.Addr().String())
		if err := listener.Close(); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("no free port below those that the kernel gives away")
}

// firstEphemeralPort returns the first port of the kernel's ephemeral range, or the conventional
// one where the kernel does not publish it.
func firstEphemeralPort() int {
	const byConvention, least = 32768, lowestPort + 1000
	data, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return byConvention
	}
	var first int
	if _, err := fmt.Sscan(string(data), &first); err != nil || first < least {
		return byConvention // a machine with few free ports: use ephemeral ports as well
	}
	return first
}
