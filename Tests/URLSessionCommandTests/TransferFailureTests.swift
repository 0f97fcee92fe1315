import Foundation
import LoadingSemantics
import Testing
import URLLoading
import URLSessionCommandCore

/// Exit codes are promises to scripts.
@Suite struct TransferFailureTests {
    @Test(
        arguments: [
            (.timedOut, 28), (.cannotFindHost, 6), (.dnsLookupFailed, 6), (.cannotConnectToHost, 7),
            (.notConnectedToInternet, 7), (.unsupportedURL, 1), (.badURL, 3), (.httpTooManyRedirects, 47),
            (.badServerResponse, 8), (.cannotParseResponse, 8), (.zeroByteResource, 52), (.cannotDecodeRawData, 61),
            (.cannotDecodeContentData, 61), (.dataLengthExceedsMaximum, 63), (.requestBodyStreamExhausted, 65),
            (.fileDoesNotExist, 37), (.fileIsDirectory, 37), (.noPermissionsToReadFile, 37),
            (.serverCertificateHasBadDate, 60), (.serverCertificateNotYetValid, 60), (.serverCertificateUntrusted, 60),
            (.serverCertificateHasUnknownRoot, 60), (.clientCertificateRejected, 58), (.clientCertificateRequired, 58),
            (.secureConnectionFailed, 35), (.unknown, 70), (.cancelled, 70),
        ] as [(URLError.Code, Int32)])
    func errorsToExitCodes(_ code: URLError.Code, _ exit: Int32) {
        let failure = TransferFailure(URLError(code), .init(url: "http://h/"))
        #expect(failure.exitCode.rawValue == exit)
        #expect(!failure.message.contains("\n"))
    }

    @Test func numbersOfTheOthers() {
        #expect(
            [
                ExitCode.success, .usage, .unavailable, .httpError, .writeError, .readError, .interrupted, .brokenPipe,
                .terminated,
            ].map(\.rawValue) == [0, 2, 4, 22, 23, 26, 130, 141, 143])
    }

    // CONN-27, ERR-6: one error code, three different stories.
    @Test func lostConnections() {
        var context = TransferFailure.Context(url: "http://h:81/a")
        let error = URLError(.networkConnectionLost)
        #expect(
            TransferFailure(error, context)
                == TransferFailure(
                    .emptyReply, "h:81 closed the connection without an answer: try again, or check http or https"))
        context.hasResponse = true
        context.received = 40
        #expect(
            TransferFailure(error, context)
                == TransferFailure(
                    .connectionLost, "the connection to h:81 was lost: the response is incomplete, try again"))
        context.expected = 100
        #expect(
            TransferFailure(error, context)
                == TransferFailure(
                    .partialBody,
                    "h:81 closed the connection after 40 of 100 bytes: the response is incomplete, try again"))
    }

    // CONN-15, C-8
    @Test func timeoutsNameTheSwitch() {
        var context = TransferFailure.Context(url: "http://h/a")
        let error = URLError(.timedOut)
        #expect(
            TransferFailure(error, context).message
                == "h did not answer for 60 s: try again, or allow more time with --idle-timeout")
        context.timeout = 2
        context.elapsed = 2.01
        #expect(
            TransferFailure(error, context).message == "http://h/a was not loaded within 2 s: allow more time with -m")
        context.idleTimeout = 0.5
        context.elapsed = 0.5
        context.hasResponse = true
        #expect(
            TransferFailure(error, context).message
                == "h sent nothing more for 0.5 s: try again, or allow more time with --idle-timeout")
    }

    // ERR-3
    @Test func theSystemsReasonIsIncluded() {
        let refused = NSError(domain: NSPOSIXErrorDomain, code: Int(ECONNREFUSED))
        let error = URLError(.cannotConnectToHost, userInfo: [NSUnderlyingErrorKey: refused])
        #expect(
            TransferFailure(error, .init(url: "http://[::1]:9/")).message
                == "could not connect to [::1]:9 (connection refused): is the server running, and is the port right?")
    }

    // ERR-3, TLS-5: the server is not to blame
    @Test func aLibraryThatIsMissing() {
        let library = NSError(
            domain: "URLLoadingLibraryErrorDomain", code: 0,
            userInfo: [NSLocalizedDescriptionKey: "libssl.so.3: no such file"])
        let error = URLError(.secureConnectionFailed, userInfo: [NSUnderlyingErrorKey: library])
        #expect(
            TransferFailure(error, .init(url: "https://h/"))
                == TransferFailure(
                    .tlsHandshake, "no secure connection to h (libssl.so.3: no such file): install that library"))
    }

    // ERR-6: an FTP server does not support HTTP
    @Test func anInvalidResponse() {
        let error = URLError(.cannotParseResponse)
        #expect(
            TransferFailure(error, .init(url: "FTP://h/a"))
                == TransferFailure(.badServerResponse, "h did not answer with correct FTP: is this the right port?"))
        #expect(
            TransferFailure(error, .init(url: "http://h/a")).message
                == "h did not answer with correct HTTP: is this the right port, and http or https?")
    }

    // PROXY-10: the proxy is missing, with the number of Apple's loader
    @Test(arguments: [306, 310])
    func aProxyThatIsNotThere(_ number: Int) {
        let proxy = NSError(domain: "kCFErrorDomainCFNetwork", code: number)
        let error = URLError(.cannotConnectToHost, userInfo: [NSUnderlyingErrorKey: proxy])
        let context = TransferFailure.Context(url: "https://h/")
        #expect(
            TransferFailure(error, context)
                == TransferFailure(
                    .cannotConnect,
                    "could not reach h through the proxy (no connection to the proxy): "
                        + "is the proxy running, and does it allow that?"))
        let named = URLError(
            .cannotConnectToHost, userInfo: [NSUnderlyingErrorKey: proxy, FailedProxy.urlKey: "http://p:3128"])
        #expect(
            TransferFailure(named, context).message
                == "could not reach h through the proxy http://p:3128 (no connection to the proxy): "
                + "is the proxy running, and does it allow that?")
    }

    // PROXY-10: it is not the server's certificate
    @Test func aProxyThatIsNotTrusted() {
        let error = URLError(.serverCertificateUntrusted, userInfo: [FailedProxy.urlKey: "https://p:443"])
        #expect(
            TransferFailure(error, .init(url: "https://h/"))
                == TransferFailure(
                    .serverCertificate,
                    "the certificate of the proxy https://p:443 is not trusted: "
                        + "-v shows it; --cacert FILE trusts an authority of your own"))
    }

    // ERR-3: all underlying errors are reported, from the outermost to the innermost
    @Test func reasonsOfCertificates() {
        let inner = NSError(
            domain: "x", code: 1, userInfo: [NSLocalizedDescriptionKey: "valid for more than 825 days"])
        let outer = NSError(
            domain: "URLLoadingTLSErrorDomain", code: 2,
            userInfo: [NSLocalizedDescriptionKey: "not by the rules", NSUnderlyingErrorKey: inner])
        let error = URLError(.serverCertificateUntrusted, userInfo: [NSUnderlyingErrorKey: outer])
        #expect(
            TransferFailure(error, .init(url: "https://h/")).message
                == "the certificate of h is not trusted (not by the rules: valid for more than 825 days): "
                + "-v shows it; --cacert FILE trusts an authority of your own")
    }

    // CONN-2: the switches say what was wanted
    @Test func versionsThatAreNotSupported() {
        var context = TransferFailure.Context(url: "https://h/")
        context.version = .http2
        let refused = NSError(
            domain: "URLLoadingHTTPErrorDomain", code: 0,
            userInfo: [NSLocalizedDescriptionKey: "the server did not agree to HTTP/2"])
        let error = URLError(.secureConnectionFailed, userInfo: [NSUnderlyingErrorKey: refused])
        #expect(
            TransferFailure(error, context)
                == TransferFailure(
                    .noHTTP2,
                    "no HTTP/2 to h (the server did not agree to HTTP/2): let the server choose the version"))
        context.version = .http3
        #expect(
            TransferFailure(URLError(.cannotConnectToHost), context)
                == TransferFailure(
                    .noHTTP3, "h does not answer over HTTP/3: let the server choose the version"))
    }

    // MISC-17
    @Test func schemesThatCanBeLoaded() {
        #expect(
            TransferFailure(URLError(.unsupportedURL), .init(url: "gopher://h/")).message
                == "cannot load gopher://h/: only http, https, ftp, file and data URLs")
    }

    @Test func messagesHoldNoPasswords() {
        for code in [URLError.Code.unsupportedURL, .badURL, .timedOut, .unknown, .cannotFindHost] {
            let failure = TransferFailure(URLError(code), .init(url: "ftp://ann:pa55word@h/"))
            #expect(!failure.message.contains("pa55word"))
        }
    }

    @Test func brokenPipeIsQuiet() {
        #expect(
            TransferFailure(FileError(path: "standard output", code: EPIPE)) == TransferFailure(.brokenPipe, ""))
        #expect(
            TransferFailure(FileError(path: "f", code: ENOSPC))
                == TransferFailure(.writeError, "cannot write f: No space left on device"))
    }
}
