package shares

import (
	"context"
	"net"

	"go.opentelemetry.io/collector/client"
)

// SenderOf returns the sender whose share a request uses: its authenticated name, or its address
// without one. A connection is not a sender, because a client with many connections would get many
// shares.
func SenderOf(ctx context.Context) string {
	info := client.FromContext(ctx)
	if info.Auth != nil {
		for _, attribute := range [...]string{"subject", "username"} {
			if name, ok := info.Auth.GetAttribute(attribute).(string); ok && name != "" {
				return name
			}
		}
	}
	return AddressOf(info.Addr)
}

// AddressOf returns the address of peer without its port, which differs between connections of one
// process.
func AddressOf(peer net.Addr) string {
	if peer == nil {
		return ""
	}
	if host, _, err := net.SplitHostPort(peer.String()); err == nil {
		return host
	}
	return peer.String()
}
