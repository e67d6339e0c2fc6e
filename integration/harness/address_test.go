package harness

import (
	"net"
	"strconv"
	"testing"
)

// Addresses differ, can be listened on, and are not ephemeral.
func TestFreeAddresses_DistinctAndBindable(t *testing.T) {
	seen := map[string]bool{}
	for range 5 {
		addresses, err := FreeAddresses(5)
		if err != nil || len(addresses) != 5 {
			t.Fatal(addresses, err)
		}
		for _, address := range addresses {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := strconv.Atoi(port); err != nil || n >= firstEphemeralPort() || seen[address] {
				t.Errorf("%s comes twice, or may be given to others: %v", address, err)
			}
			seen[address] = true
			listener, err := net.Listen("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			listener.Close()
		}
	}
}
