import LoadingSemantics
import Testing

/// The errors of loads whose proxy fails.
@Suite struct ProxyFailureTests {
    // PROXY-10, AUTH-28
    @Test(
        "the error codes",
        arguments: [
            (.unreachable(.request, .cannotConnectToHost(111)), -1004, .cfNetwork(306)),
            (.unreachable(.tunnel, .cannotConnectToHost(111)), -1004, .cfNetwork(310)),
            (.unreachable(.tunnel, .cannotFindHost), -1004, .cfNetwork(310)),
            (.unreachable(.tunnel, .secureConnectionFailed(1, "x")), -1004, .cfNetwork(310)),
            (.unreachable(.request, .timedOut), -1001, .cfNetwork(306)),
            (.unreachable(.request, .notConnectedToInternet(101)), -1009, .cfNetwork(306)),
            (.unreachable(.socks, .cannotConnectToHost(111)), -1004, .posix(111)),
            (.unusableSettings(.request), -1004, .cfNetwork(306)),
            (.unusableSettings(.tunnel), -1004, .cfNetwork(310)), (.unusableSettings(.socks), -1004, nil),
            (.tunnelLost, -1004, .cfNetwork(310)), (.malformedTunnelResponse("x"), -1004, .cfNetwork(311)),
            (.tunnelRefused(status: 407), -1004, .cfNetwork(310)),
            (.tunnelRefused(status: 403), -1004, .cfNetwork(311)),
            (.tunnelRefused(status: 502), -1004, .cfNetwork(311)),
            (.tunnelRefused(status: 504), -1001, .cfNetwork(311)),
            (.badCredentials, -1004, .cfNetwork(307)), (.scriptFailed, -1004, .cfNetwork(308)),
            (.scriptNeedsCredentials, -1004, .cfNetwork(309)),
            (.socks(.unsupportedVersion(72)), -1004, .cfNetwork(101)),
            (.socks(.refused4(.rejected)), -1004, .cfNetwork(110)),
            (.socks(.refused4(.identityUnavailable)), -1004, .cfNetwork(111)),
            (.socks(.refused4(.identityMismatch)), -1004, .cfNetwork(112)),
            (.socks(.refused4(.unknown(1))), -1004, .cfNetwork(113)),
            (.socks(.refused5(.generalFailure)), -1004, .cfNetwork(120)),
            (.socks(.refused5(.timeToLiveExpired)), -1001, .cfNetwork(120)),
            (.socks(.refused5(.addressTypeNotSupported)), -1004, .cfNetwork(121)),
            (.socks(.unsupportedAddressType(9)), -1004, .cfNetwork(121)),
            (.socks(.addressNotSupported), -1004, .cfNetwork(121)), (.socks(.badCredentials), -1004, .cfNetwork(122)),
            (.socks(.unencodableCredential), -1004, .cfNetwork(122)),
            (.socks(.unsupportedMethod(1)), -1004, .cfNetwork(123)),
            (.socks(.noAcceptableMethod), -1004, .cfNetwork(124)), (.socks(.unencodableHost), -1003, nil),
            (.socks(.connectionLost), -1004, .posix(104)),
        ] as [(ProxyFailure, Int, LoadError.Cause?)])
    func numbers(failure: ProxyFailure, code: Int, cause: LoadError.Cause?) {
        #expect(failure.loadError == LoadError(code: code, cause: cause))
    }

    // PROXY-7
    @Test(
        "another route replaces a failed proxy, but not a refusing one",
        arguments: [
            (.unreachable(.tunnel, .timedOut), true), (.tunnelLost, true), (.malformedTunnelResponse("x"), true),
            (.unusableSettings(.tunnel), true), (.socks(.unsupportedVersion(4)), true), (.socks(.connectionLost), true),
            (.socks(.noAcceptableMethod), true), (.tunnelRefused(status: 403), false),
            (.tunnelRefused(status: 407), false),
            (.badCredentials, false), (.socks(.badCredentials), false), (.socks(.refused5(.notAllowed)), false),
            (.socks(.refused5(.hostUnreachable)), false), (.socks(.refused4(.rejected)), false),
            (.socks(.refused5(.addressTypeNotSupported)), true), (.scriptFailed, false),
        ] as [(ProxyFailure, Bool)])
    func nextRoute(failure: ProxyFailure, isPermitted: Bool) {
        #expect(failure.permitsNextRoute == isPermitted)
    }
}
