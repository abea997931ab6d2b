// Package cluster has the manifests that split the studies over machines. README.md says how they are used; what is Go
// here is the test that starts them as plain processes.
package cluster
