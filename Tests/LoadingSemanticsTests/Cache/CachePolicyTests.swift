import LoadingSemantics
import Testing

@Suite struct CachePolicyTests {
    // C-4, C-5
    @Test(arguments: CachePolicy.allCases)
    func requestPolicyOverridesSession(policy: CachePolicy) {
        #expect(CachePolicy.effective(request: nil, session: policy) == policy)
        for session in CachePolicy.allCases where session != .returnCacheDataDontLoad {
            #expect(CachePolicy.effective(request: policy, session: session) == policy)
        }
    }

    // C-4: a request cannot allow what its session forbids.
    @Test(arguments: CachePolicy.allCases)
    func cacheOnlySessionCannotBeOverridden(policy: CachePolicy) {
        let session = CachePolicy.returnCacheDataDontLoad
        #expect(CachePolicy.effective(request: policy, session: session) == session)
    }
}
