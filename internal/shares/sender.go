package shares

import (
	"context"
	"net"

	"go.opentelemetry.io/collector/client"
)

// SenderOf is whose share a request uses: the name that it has authenticated with, else its
// address. Connections are no senders, since whoever opens many would have many shares.
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

// AddressOf is the address without the port, which the next connection of a process has not.
func AddressOf(peer net.Addr) string {
	if peer == nil {
		return ""
	}
	if host, _, err := net.SplitHostPort(peer.String()); err == nil {
		return host
	}
	return peer.String()
}
