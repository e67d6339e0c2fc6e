package export

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"
	"testing"
)

func TestPlainly_RemovesAddresses(t *testing.T) {
	at := func(port int) net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: port} }
	reset := &url.Error{Op: "Post", URL: "http://tok3n@a:1/s3cret", Err: fmt.Errorf("transport: %w",
		&net.OpError{Op: "read", Net: "tcp", Source: at(50123), Addr: at(4318), Err: syscall.ECONNRESET})}
	got := faultAt("http://tok3n@a:1/s3cret", reset)
	if want := "http://a:1: read: " + syscall.ECONNRESET.Error(); got.Error() != want || !errors.Is(got, syscall.ECONNRESET) {
		t.Errorf("%q, want %q", got, want)
	}
	lookup := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Name: "a", Err: "read udp 10.0.0.1:50123->10.0.0.2:53: i/o timeout", IsTimeout: true}}
	if got, want := faultAt("http://a:1", lookup).Error(), "http://a:1: dial: lookup a: no answer in time"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
