package objectstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"tcpwheel/pcaps/corpus"
)

// s3 is a bucket of S3, of a server with its interface, or of Google Cloud Storage.
type s3 struct {
	core   minio.Core
	bucket string
	retry  corpus.Retry
}

// openS3 opens a bucket of S3. The environment has what the tools of AWS read: AWS_ENDPOINT_URL_S3
// or AWS_ENDPOINT_URL, AWS_REGION, and credentials.
func openS3(ctx context.Context, bucket string, o corpus.Options) (corpus.Store, error) {
	endpoint := cmp.Or(o.Env("AWS_ENDPOINT_URL_S3"), o.Env("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com")
	var keys *credentials.Credentials
	if !o.Anonymous {
		var err error
		if keys, err = s3Credentials(ctx, o.Env); err != nil {
			return nil, err
		}
	}
	return newS3(endpoint, bucket, cmp.Or(o.Env("AWS_REGION"), o.Env("AWS_DEFAULT_REGION")), keys, o.Retry)
}

// openGS opens a bucket of Google Cloud Storage by its interface in the manner of S3, which wants
// HMAC keys.
func openGS(_ context.Context, bucket string, o corpus.Options) (corpus.Store, error) {
	var keys *credentials.Credentials
	if !o.Anonymous {
		id, secret := o.Env("GS_ACCESS_KEY_ID"), o.Env("GS_SECRET_ACCESS_KEY")
		if id == "" || secret == "" {
			return nil, errors.New("no credentials: set GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY to an HMAC key, or use --anonymous for a public bucket")
		}
		keys = credentials.NewStaticV4(id, secret, "")
	}
	return newS3(cmp.Or(o.Env("GS_ENDPOINT_URL"), "https://storage.googleapis.com"), bucket, "auto", keys, o.Retry)
}

// s3Credentials looks for credentials in the environment, in the files of the AWS tools, and,
// unless AWS_EC2_METADATA_DISABLED is true, where containers and machines of AWS have them.
func s3Credentials(ctx context.Context, env func(string) string) (*credentials.Credentials, error) {
	if id, secret := env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY"); id != "" && secret != "" {
		return credentials.NewStaticV4(id, secret, env("AWS_SESSION_TOKEN")), nil
	}
	client := &http.Client{Timeout: 5 * time.Second}
	sources := []credentials.Provider{&credentials.FileAWSCredentials{Filename: env("AWS_SHARED_CREDENTIALS_FILE"), Profile: env("AWS_PROFILE")}}
	if env("AWS_EC2_METADATA_DISABLED") != "true" {
		sources = append(sources, &credentials.IAM{Client: client})
	}
	keys := credentials.NewChainCredentials(sources)
	done := make(chan bool, 1)
	go func() {
		v, err := keys.GetWithContext(&credentials.CredContext{Client: client})
		done <- err == nil && v.AccessKeyID != ""
	}()
	select {
	case ok := <-done:
		if ok {
			return keys, nil
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return nil, errors.New("no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use --anonymous for a public bucket")
}

// newS3 returns a bucket. Nil keys read without a signature.
func newS3(endpoint, bucket, region string, keys *credentials.Credentials, retry corpus.Retry) (corpus.Store, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("endpoint %q, want http://HOST[:PORT] or https://HOST", endpoint)
	}
	if keys == nil {
		keys = credentials.NewStaticV4("", "", "")
	}
	// MaxRetries 1: Retry repeats.
	c, err := minio.New(u.Host, &minio.Options{Creds: keys, Secure: u.Scheme == "https", Region: region, MaxRetries: 1})
	if err != nil {
		return nil, err
	}
	return &s3{core: minio.Core{Client: c}, bucket: bucket, retry: retry}, nil
}

// List continues after the last object it got if a connection breaks.
func (s *s3) List(ctx context.Context, prefix string, add func(corpus.Entry)) error {
	last := ""
	return s.retry.Do(ctx, func() error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // it ends the channel's goroutine
		for o := range s.core.Client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true, StartAfter: last}) {
			if o.Err != nil {
				return s3Error(o.Err)
			}
			add(corpus.Entry{Key: o.Key, Size: o.Size, Tag: o.ETag})
			last = o.Key
		}
		return nil
	})
}

func (s *s3) Open(ctx context.Context, key string, from int64, tag string) (io.ReadCloser, error) {
	var opts minio.GetObjectOptions
	if from > 0 {
		if err := opts.SetRange(from, 0); err != nil {
			return nil, corpus.Permanent(err)
		}
	}
	if tag != "" {
		if err := opts.SetMatchETag(tag); err != nil {
			return nil, corpus.Permanent(err)
		}
	}
	r, info, _, err := s.core.GetObject(ctx, s.bucket, key, opts)
	if err != nil {
		return nil, s3Error(err)
	}
	if tag != "" && info.ETag != tag { // a server that ignores If-Match
		r.Close()
		return nil, corpus.Permanent(corpus.ErrChanged)
	}
	return r, nil
}

func (s *s3) Put(ctx context.Context, key string, body []byte, replace bool) error {
	opts := minio.PutObjectOptions{ContentType: "application/vnd.apache.parquet", DisableMultipart: true}
	if !replace {
		opts.SetMatchETagExcept("*") // If-None-Match
	}
	_, err := s.core.Client.PutObject(ctx, s.bucket, key, bytes.NewReader(body), int64(len(body)), opts)
	if err = s3Error(err); !replace && errors.Is(err, corpus.ErrChanged) {
		return fmt.Errorf("%s: %w", key, fs.ErrExist)
	}
	return err
}

func (s *s3) Remove(ctx context.Context, key string) error {
	return s3Error(s.core.Client.RemoveObject(ctx, s.bucket, key, minio.RemoveObjectOptions{}))
}

// s3Error says whether repeating a request may help.
func s3Error(err error) error {
	if err == nil {
		return nil
	}
	r := minio.ToErrorResponse(err)
	if r.Code == "" && r.StatusCode == 0 {
		return err // of the connection
	}
	return statusError(err, r.StatusCode, r.Code)
}

// statusError makes an error permanent by its HTTP status, or else its code, which differs between
// servers.
func statusError(err error, status int, code string) error {
	switch {
	case status == http.StatusPreconditionFailed || code == "PreconditionFailed":
		return corpus.Permanent(corpus.ErrChanged)
	case code == "NoSuchKey" || code == "BlobNotFound" || status == http.StatusNotFound && !strings.Contains(code, "Bucket"):
		return corpus.Permanent(fmt.Errorf("%w: %w", err, fs.ErrNotExist))
	case status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status == http.StatusConflict:
		return err
	case status >= 400 && status < 500, code == "AccessDenied", code == "NoSuchBucket", code == "InvalidAccessKeyId", code == "SignatureDoesNotMatch":
		return corpus.Permanent(err)
	}
	return err
}
