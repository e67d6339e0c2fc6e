// Package alert says what an alert is, how bad it is, and which alerts travel
// together in one message.
//
// Its invariant: an alert that is found again has the same id, and a message that
// is sent again has the same id too, so whoever receives it twice can tell.
//
// It raises nothing and delivers nothing: packages pairs, drift and cost do the
// one, the packages below this one the other.
package alert
