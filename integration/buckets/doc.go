// Package buckets runs one suite of package bucket's promises over a directory
// and over servers that speak the protocols of S3 and of Cloud Storage, in this
// process. It is a module of its own because these servers bring dependencies along
// that no collector needs.
package buckets
