package harness

import (
	"errors"
	"net"
)

// FreeAddresses returns loopback addresses that nothing listens on. They are
// taken all at once, so that they differ.
func FreeAddresses(n int) ([]string, error) {
	var addresses []string
	var faults []error
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			faults = append(faults, err)
			continue
		}
		defer listener.Close()
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, errors.Join(faults...)
}
