/** Types for operations, from the API's SDL: `tidemark schema > schema.graphql`, then `npm run generate`. */
import type { CodegenConfig } from '@graphql-codegen/cli'

const config: CodegenConfig = {
  schema: 'schema.graphql',
  documents: ['typed.ts'],
  generates: {
    'generated/': {
      preset: 'client',
      config: {
        // Both are JSON numbers. Without these lines they would be `any`.
        scalars: { Timestamp: 'number', BigCount: 'number' },
        defaultScalarType: 'unknown',
        strictScalars: true,
        useTypeImports: true,
        importExtension: '.ts',
        enumsAsTypes: true,
      },
    },
    // For Apollo Client: the types of each interface.
    'generated/possible-types.ts': { plugins: ['fragment-matcher'] },
  },
}

export default config
