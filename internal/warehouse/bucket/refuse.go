package bucket

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"time"

	"gocloud.dev/gcerrors"
	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"
)

const (
	noBucket       = "check that the bucket exists, that its name is right, and that the credentials may list, read, create and delete objects in it"
	noRight        = "give the credentials of the environment the right to list, read, create and delete objects there"
	badCredentials = "the store does not know the credentials of the environment, or no longer: renew them"
	otherRegion    = "the bucket is in another region: name that one as the `region` of the address"
	badClock       = "set the clock of this machine: the store refuses requests of another time"
	badAddress     = "check the address of the bucket and its options"
	noCredentials  = "no credentials could be had from the environment: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a `profile` in the address, or give the machine or pod a role"
)

// byCode maps error codes of S3 that are more specific than their status to hints.
var byCode = map[string]string{
	"NoSuchBucket": noBucket, "InvalidBucketName": badAddress,
	"InvalidAccessKeyId": badCredentials, "SignatureDoesNotMatch": badCredentials, "InvalidToken": badCredentials, "ExpiredToken": badCredentials,
	"RequestTimeTooSkewed":         badClock,
	"AuthorizationHeaderMalformed": otherRegion, "PermanentRedirect": otherRegion, "IllegalLocationConstraintException": otherRegion,
}

// byStatus maps permanent HTTP statuses to hints. Status 400 is absent: S3 also uses it for
// temporary faults.
var byStatus = map[int]string{
	http.StatusMovedPermanently: otherRegion, http.StatusUnauthorized: badCredentials, http.StatusForbidden: noRight,
	http.StatusNotFound: noBucket, http.StatusMethodNotAllowed: badAddress, http.StatusNotImplemented: badAddress,
}

// answerOf returns the status and the error code of the store's answer, or zero values if there was no answer.
func answerOf(err error) (status int, code string) {
	var s3 interface{ HTTPStatusCode() int }
	var gcs *googleapi.Error
	switch {
	case errors.As(err, &gcs):
		return gcs.Code, ""
	case errors.As(err, &s3):
		status = s3.HTTPStatusCode()
	}
	var named interface{ ErrorCode() string }
	if errors.As(err, &named) {
		code = named.ErrorCode()
	}
	return status, code
}

// refusal returns a hint for the operator, and whether the error is permanent.
func (b *Bucket) refusal(err error) (hint string, permanent bool) {
	if b.scheme == schemeFile {
		if errors.Is(err, fs.ErrPermission) {
			return "the directory must be writable for this user", true
		}
		return "check that the bucket exists: it is a directory", gcerrors.Code(err) == gcerrors.NotFound
	}
	var token *oauth2.RetrieveError
	if errors.As(err, &token) {
		return badCredentials, token.Response != nil && token.Response.StatusCode < http.StatusInternalServerError && token.Response.StatusCode != http.StatusTooManyRequests
	}
	status, code := answerOf(err)
	if hint, lasting := byCode[code]; lasting {
		return hint, true
	}
	if b.scheme == schemeGCS && status == http.StatusForbidden {
		return noBucket, true // it does not tell which
	}
	if b.scheme == schemeGCS && status == http.StatusBadRequest {
		return badAddress, true
	}
	hint, permanent = byStatus[status]
	return hint, permanent
}

// isNotFound reports whether the store answered that the object does not exist.
func isNotFound(err error) bool {
	status, code := answerOf(err)
	return gcerrors.Code(err) == gcerrors.NotFound && (status == 0 || status == http.StatusNotFound) && code != "NoSuchBucket"
}

// identifyWithin bounds the search for credentials.
const identifyWithin = 10 * time.Second

// unidentified returns the reason why there are no credentials for requests, nil if there are some.
func (b *Bucket) unidentified(ctx context.Context) error {
	if b.identify == nil || ctx.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, identifyWithin)
	defer cancel()
	return b.identify(ctx)
}

// isTemporary reports whether the source of credentials did not answer but can answer later.
func isTemporary(err error) bool {
	var unreachable net.Error
	status, _ := answerOf(err)
	return errors.As(err, &unreachable) || errors.Is(err, context.DeadlineExceeded) ||
		status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
}
