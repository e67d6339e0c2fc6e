//go:build amd64 && gc && !race && !purego

// That there is assembly lets the compiler take functions without a body.
