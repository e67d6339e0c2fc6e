package export

import (
	"errors"
	"fmt"
	"net"
	"net/url"
)

// hostOf names a URL by its scheme and host: user, path and query can be secret.
func hostOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

// faultAt returns an error that names the host of a URL that was parsed before.
func faultAt(at string, err error) error {
	u, fault := url.Parse(at)
	if fault != nil {
		return plainly(err)
	}
	return fmt.Errorf("%s: %w", hostOf(u), plainly(err))
}

// plainly removes from an error the URL that net/http repeats, which can be secret, and the local
// port of the connection, which differs each time.
func plainly(err error) error {
	var request *url.Error
	for errors.As(err, &request) {
		err = request.Err
	}
	var connection *net.OpError
	if errors.As(err, &connection) {
		return fmt.Errorf("%s: %w", connection.Op, plainly(connection.Err))
	}
	var lookup *net.DNSError
	if errors.As(err, &lookup) && lookup.IsTimeout {
		return fmt.Errorf("lookup %s: no answer in time", lookup.Name)
	}
	return err
}
