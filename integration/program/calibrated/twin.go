//go:build twin

package main

const probed = false

var probes [methods]probe

type probe struct{}

type call struct{}

func (probe) Begin() call { return call{} }
func (call) End()         {}
