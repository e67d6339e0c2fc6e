// Package deploygen draws deployments with a known truth, which are used to score the verdicts of
// `corehour regress`. docs/background/simulation.md describes the model and the scenes.
//
// Its invariant: a scene and a seed determine the deployment and all its records. It makes no verdicts
// and shares no code with packages that do: it imports only the standard library.
package deploygen
