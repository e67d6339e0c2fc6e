package harness

import "time"

// Fault is the action of a proxy on one request.
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

// Forward passes the request on and returns the answer.
func Forward() Fault { return Fault{kind: forward} }

// Delay passes the request on and returns the answer after d.
func Delay(d time.Duration) Fault { return Fault{kind: forward, delay: d} }

// DropAnswer passes the request on and closes the connection instead of answering: the sender
// cannot know that the request was accepted.
func DropAnswer() Fault { return Fault{kind: dropAnswer} }

// Refuse answers with a status and a Retry-After, and passes nothing on.
func Refuse(status int, retryAfter time.Duration) Fault {
	return Fault{kind: refuse, status: status, delay: retryAfter}
}

// BlackHole reads the request and does not answer until the sender gives up, or until it closes the
// connection after atLongest.
func BlackHole(atLongest time.Duration) Fault { return Fault{kind: blackHole, delay: atLongest} }

// Repeat passes the request on, and afterwards an acknowledged earlier request again, byte for
// byte.
func Repeat() Fault { return Fault{kind: repeat} }
