package harness

import "time"

// Fault is what a proxy does with one request.
type Fault struct {
	kind   faultKind
	status int
	delay  time.Duration
}

type faultKind int

const (
	forward faultKind = iota
	dropAnswer
	refuse
	blackHole
	repeat
)

// Forward passes the request on and the answer back.
func Forward() Fault { return Fault{kind: forward} }

// Delay passes the request on and holds the answer back for a while.
func Delay(d time.Duration) Fault { return Fault{kind: forward, delay: d} }

// DropAnswer passes the request on and closes the connection instead of
// answering: the sender can't know that it was accepted.
func DropAnswer() Fault { return Fault{kind: dropAnswer} }

// Refuse answers with a status and a Retry-After, and passes nothing on.
func Refuse(status int, retryAfter time.Duration) Fault {
	return Fault{kind: refuse, status: status, delay: retryAfter}
}

// BlackHole takes the request, passes nothing on and does not answer until the
// sender gives up, or at last closes the connection.
func BlackHole(atLongest time.Duration) Fault { return Fault{kind: blackHole, delay: atLongest} }

// Repeat passes the request on and then, once more and word for word, an
// earlier one that was acknowledged.
func Repeat() Fault { return Fault{kind: repeat} }
