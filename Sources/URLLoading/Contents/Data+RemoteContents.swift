internal import Foundation
@_spi(SwiftCorelibsFoundation) internal import FoundationEssentials

extension Data {
    /// What `Data(contentsOf:)` of a URL comes to that is no file's.
    @_dynamicReplacement(for:init(_contentsOfRemote:options:))
    private init(loadingContentsOf url: URL, options: Data.ReadingOptions = []) throws {
        self = try RemoteContents.load(url).0
    }
}
