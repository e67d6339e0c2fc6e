// Package buckets runs one test suite of package bucket over a directory and over in-process
// servers that speak the protocols of S3 and of Cloud Storage.
package buckets
